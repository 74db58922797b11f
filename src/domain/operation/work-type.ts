/**
 * Every type of work on a machine, whichever API started it. Document 2's operations have a gate by phase
 * (operation-type.ts); document 1's run types have a default plan instead, and one of them is known to both
 * under two names.
 */
import { OPERATION_TYPE_NAMES, type OperationType } from './operation-type.ts';

export type RunType = 'REPAVE' | 'RMA' | 'REBOOT' | 'UPGRADE' | 'NET_RECONFIG' | 'JOIN';

/** Document 3's workflows. */
export type WorkflowType = 'ONBOARD' | 'DECOMMISSION' | 'DRAIN' | 'REMOVE';

const WORKFLOW_TYPES = {
  ONBOARD: 'Take the machine from bare metal into service',
  DECOMMISSION: 'Take the machine out of service, in one of four modes',
  DRAIN: 'Take the machine out of scheduling',
  REMOVE: 'Take the machine out of the inventory for good',
} as const satisfies Record<WorkflowType, string>;

const WORKFLOW_TYPE_NAMES = Object.keys(WORKFLOW_TYPES) as WorkflowType[];

/** Work on the hardware of a node, as document 4 has it. Its gate is in hardware-work.ts. */
export type HardwareWorkType = 'ERASE' | 'MIGRATE';

const HARDWARE_WORK_TYPE_NAMES: readonly HardwareWorkType[] = ['ERASE', 'MIGRATE'];

export type WorkType = OperationType | Exclude<RunType, 'REPAVE'> | WorkflowType | HardwareWorkType;

/** What is stored for a run of each type. */
export const RUN_TYPES = {
  REPAVE: { workType: 'REIMAGE', description: 'Write an OS image, then join the cluster' },
  RMA: { workType: 'RMA', description: 'Take the machine out for return or replacement' },
  REBOOT: { workType: 'REBOOT', description: 'Reboot the machine' },
  UPGRADE: { workType: 'UPGRADE', description: 'Upgrade the kubelet with the node drained' },
  NET_RECONFIG: { workType: 'NET_RECONFIG', description: 'Apply network changes' },
  JOIN: { workType: 'JOIN', description: 'Join the cluster' },
} as const satisfies Record<RunType, { workType: WorkType; description: string }>;

export const RUN_TYPE_NAMES = Object.keys(RUN_TYPES) as RunType[];

export const WORK_TYPE_NAMES: readonly WorkType[] = [
  ...new Set<WorkType>([
    ...OPERATION_TYPE_NAMES,
    ...RUN_TYPE_NAMES.map((type) => RUN_TYPES[type].workType),
    ...WORKFLOW_TYPE_NAMES,
    ...HARDWARE_WORK_TYPE_NAMES,
  ]),
];

/** The name that document 1's API shows. */
export function runTypeName(type: WorkType): string {
  return type === 'REIMAGE' ? 'REPAVE' : type;
}

export const RUN_TYPE_FILTER_NAMES: readonly string[] = WORK_TYPE_NAMES.map(runTypeName);
