/** The type of every operation, whichever API starts it. Each group has its own rule for when it may start. */
import { HARDWARE_OPERATION_NAMES, type HardwareOperationType } from './hardware-operation.ts';
import { PHASE_GATED_TYPE_NAMES, type PhaseGatedType } from './phase-gated-type.ts';

/** Only a plan of the v1 API starts these; they have no gate by phase (docs/api-v1.md). */
export type PlanOnlyType = 'RMA' | 'UPGRADE' | 'NET_RECONFIG' | 'JOIN';

const PLAN_ONLY_TYPE_NAMES: readonly PlanOnlyType[] = ['RMA', 'UPGRADE', 'NET_RECONFIG', 'JOIN'];

/** Gated by service state (src/domain/workflow/workflow-gate.ts, docs/maas.md). */
export type WorkflowType = 'ONBOARD' | 'DECOMMISSION' | 'DRAIN' | 'REMOVE';

const WORKFLOW_TYPE_NAMES: readonly WorkflowType[] = ['ONBOARD', 'DECOMMISSION', 'DRAIN', 'REMOVE'];

/** Changes nothing on a machine, so it may start in any phase (docs/hardware.md). */
export type InspectionType = 'INSPECT';

/** What operators do through a machine's BMC: the power of the machine, and the BMC itself (docs/bmc.md). */
export type BmcOperationType = 'POWER' | 'BMC';

export type OperationType =
  | PhaseGatedType
  | PlanOnlyType
  | WorkflowType
  | HardwareOperationType
  | InspectionType
  | BmcOperationType;

export const OPERATION_TYPE_NAMES: readonly OperationType[] = [
  ...PHASE_GATED_TYPE_NAMES,
  ...PLAN_ONLY_TYPE_NAMES,
  ...WORKFLOW_TYPE_NAMES,
  ...HARDWARE_OPERATION_NAMES,
  'INSPECT',
  'POWER',
  'BMC',
];
