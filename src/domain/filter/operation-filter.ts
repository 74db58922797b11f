/** What operations can be filtered by: in v2's words, and in v1's (docs/api-v1.md), which calls them runs. */
import { statesOf } from '../lifecycle/lifecycle.ts';
import { APPROVAL_STATES } from '../operation/approval.ts';
import { currentStep, type Operation } from '../operation/operation.ts';
import { operationLifecycle, PHASE_OF_STATUS } from '../operation/operation-status.ts';
import { OPERATION_TYPE_NAMES } from '../operation/operation-type.ts';
import { operationIdOf } from '../v1/run-id.ts';
import { RUN_TYPE_FILTER_NAMES, runTypeName } from '../v1/run-type.ts';
import { type Attribute, type FilterSchema, fieldsOf } from './fields.ts';

/** The store has a column for each (src/store/filter/operation-columns.ts). */
const ATTRIBUTES = {
  operation_id: {
    kind: 'string',
    stored: operationIdOf,
    get: (operation) => operation.operationId,
  },
  machine_id: { kind: 'string', get: (operation) => operation.machineId },
  request_id: { kind: 'string', get: (operation) => operation.requestId },
  type: { kind: 'enum', values: OPERATION_TYPE_NAMES, get: (operation) => operation.type },
  phase: {
    kind: 'enum',
    values: [...new Set(Object.values(PHASE_OF_STATUS))],
    get: (operation) => PHASE_OF_STATUS[operation.status],
  },
  status: {
    kind: 'enum',
    values: statesOf(operationLifecycle),
    get: (operation) => operation.status,
  },
  plan_id: { kind: 'string', get: (operation) => operation.planId },
  rollout_id: { kind: 'string', get: (operation) => operation.rolloutId || null },
  current_step: {
    kind: 'string',
    get: (operation) => currentStep(operation)?.name,
  },
  params: { kind: 'map', get: (operation) => operation.params },
  'error.code': { kind: 'string', get: (operation) => operation.error?.code },
  /** waiting, approved, rejected or expired; absent where no rule asks for an approval. */
  approval: {
    kind: 'enum',
    values: APPROVAL_STATES,
    get: (operation) => operation.approval?.state,
  },
  cancel_requested: {
    kind: 'boolean',
    get: (operation) => operation.cancelRequested,
  },
  started_by: { kind: 'string', get: (operation) => operation.startedBy },
  created_at: { kind: 'timestamp', get: (operation) => operation.createdAt },
  started_at: { kind: 'timestamp', get: (operation) => operation.startedAt },
  finished_at: { kind: 'timestamp', get: (operation) => operation.finishedAt },
  run_type: {
    kind: 'enum',
    values: RUN_TYPE_FILTER_NAMES,
    get: (operation) => runTypeName(operation.type),
  },
} as const satisfies Record<string, Attribute<Operation>>;

export type OperationAttributes = typeof ATTRIBUTES;
export type OperationAttribute = keyof OperationAttributes;
type OperationSchema = FilterSchema<Operation, OperationAttribute>;

const { run_type: runType, ...FIELDS } = fieldsOf<Operation, OperationAttribute>(ATTRIBUTES);

/** `rollout` is short for `rollout_id`, as machines have it. */
export const OPERATION_FILTER: OperationSchema = { ...FIELDS, rollout: FIELDS.rollout_id };

const { operation_id: runId, ...RUN_FIELDS } = FIELDS;

export const RUN_FILTER: OperationSchema = {
  ...RUN_FIELDS,
  rollout: FIELDS.rollout_id,
  run_id: runId,
  type: runType,
};
