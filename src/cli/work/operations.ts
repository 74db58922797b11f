/** Operations of baremetal.v2 as work. */
import {
  type Operation,
  Operation_Phase,
  OperationSchema,
  OperationType,
  type StepStatus,
  StepStatus_State,
} from '../../gen/baremetal/v2/operation_pb.ts';
import {
  LogChunkSchema,
  OperationEvent_Kind,
  OperationEventSchema,
} from '../../gen/baremetal/v2/operation_service_pb.ts';
import { machineView } from '../machine-view.ts';
import { jsonOf } from '../output/format.ts';
import {
  each,
  type StepState,
  type Work,
  type WorkApi,
  type WorkEvent,
  type WorkPhase,
  type WorkStep,
} from './work.ts';

const PHASES = {
  [Operation_Phase.PHASE_UNSPECIFIED]: '?',
  [Operation_Phase.PENDING]: 'PENDING',
  [Operation_Phase.RUNNING]: 'RUNNING',
  [Operation_Phase.SUCCEEDED]: 'SUCCEEDED',
  [Operation_Phase.FAILED]: 'FAILED',
  [Operation_Phase.CANCELED]: 'CANCELED',
} as const satisfies Record<Operation_Phase, WorkPhase>;

const STEP_STATES = {
  [StepStatus_State.STATE_UNSPECIFIED]: '?',
  [StepStatus_State.WAITING]: 'WAITING',
  [StepStatus_State.RUNNING]: 'RUNNING',
  [StepStatus_State.SUCCEEDED]: 'SUCCEEDED',
  [StepStatus_State.FAILED]: 'FAILED',
  [StepStatus_State.UNDONE]: 'UNDONE',
} as const satisfies Record<StepStatus_State, StepState>;

const EVENT_KINDS = {
  [OperationEvent_Kind.KIND_UNSPECIFIED]: 'change',
  [OperationEvent_Kind.SNAPSHOT]: 'snapshot',
  [OperationEvent_Kind.SYNCED]: 'synced',
  [OperationEvent_Kind.OPERATION]: 'change',
  [OperationEvent_Kind.STEP]: 'change',
  [OperationEvent_Kind.PROGRESS]: 'change',
} as const satisfies Record<OperationEvent_Kind, WorkEvent['kind']>;

export function workOfOperation(operation: Operation): Work {
  const { operationId, status, waitingFor, params, ...same } = operation;
  return {
    ...same,
    id: operationId,
    type: OperationType[operation.type] ?? '?',
    phase: PHASES[operation.phase] ?? '?',
    steps: operation.steps.map(stepOf),
    more: { status, waitingFor, params },
    json: () => jsonOf(OperationSchema, operation),
  };
}

function stepOf(step: StepStatus): WorkStep {
  const title = step.title || step.name;
  return { ...step, state: STEP_STATES[step.state] ?? '?', title, doneTitle: step.doneTitle || title };
}

export const OPERATIONS: WorkApi = {
  noun: 'operation',
  title: 'Operation',
  idField: 'operation_id',
  activeTitle: 'ActiveOperationId',
  commands: {
    list: 'ops',
    show: 'op show',
    attach: 'op watch',
    watch: 'watch',
    logs: 'logs',
    cancel: 'cancel',
  },
  exampleType: 'REIMAGE',
  get: async ({ operations }, operationId, options) =>
    workOfOperation(await operations.getOperation({ operationId }, options)),
  list: async (api, request, options) => {
    const { operations, nextPageToken } = await api.operations.listOperations(request, options);
    return { items: operations.map(workOfOperation), nextPageToken };
  },
  cancel: async ({ machines }, operationId, reason) =>
    workOfOperation(await machines.cancelOperation({ operationId, reason })),
  watch: ({ operations }, request, options) =>
    each(operations.watchOperations({ ...request, sendSynced: true }, options), (event) => ({
      ...event,
      kind: EVENT_KINDS[event.kind] ?? 'change',
      work: event.snapshot && workOfOperation(event.snapshot),
      json: () => jsonOf(OperationEventSchema, event),
    })),
  logs: ({ operations }, { id, cursor }, options) =>
    each(operations.streamOperationLogs({ operationId: id, cursor }, options), (chunk) => ({
      ...chunk,
      json: () => jsonOf(LogChunkSchema, chunk),
    })),
  machine: async ({ machines }, machineId) => machineView(await machines.getMachine({ machineId })),
};
