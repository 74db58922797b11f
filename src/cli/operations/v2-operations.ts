/** Operations of baremetal.v2. */
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
import { jsonOf } from '../output/format.ts';
import { machineView } from '../rendering/machine-view.ts';
import { OPERATION_HINTS } from './hint-commands.ts';
import { mapEach, type OperationSource } from './operation-source.ts';
import {
  eventKindNamed,
  type OperationView,
  phaseNamed,
  type StepView,
  stepStateNamed,
} from './operation-view.ts';

export function operationView(operation: Operation): OperationView {
  const { operationId, status, waitingFor, params, approval, rolloutId, stalled, ...same } = operation;
  return {
    ...same,
    id: operationId,
    type: OperationType[operation.type] ?? '?',
    phase: phaseNamed(Operation_Phase[operation.phase]),
    steps: operation.steps.map(stepView),
    more: { status, waitingFor, params, approval, rolloutId, stalled: stalled?.message ?? '' },
    json: () => jsonOf(OperationSchema, operation),
  };
}

function stepView(step: StepStatus): StepView {
  const title = step.title || step.name;
  const state = stepStateNamed(StepStatus_State[step.state]);
  return { ...step, state, title, doneTitle: step.doneTitle || title };
}

export const OPERATIONS: OperationSource = {
  noun: 'operation',
  title: 'Operation',
  idField: 'operation_id',
  ownId: (operationId) => operationId,
  activeTitle: 'ActiveOperationId',
  commands: OPERATION_HINTS,
  exampleType: 'REIMAGE',
  get: async ({ operations }, operationId, options) =>
    operationView(await operations.getOperation({ operationId }, options)),
  list: async (api, request, options) => {
    const { operations, nextPageToken } = await api.operations.listOperations(request, options);
    return { items: operations.map(operationView), nextPageToken };
  },
  cancel: async ({ machines }, operationId, reason) =>
    operationView(await machines.cancelOperation({ operationId, reason })),
  watch: ({ operations }, request, options) =>
    mapEach(operations.watchOperations({ ...request, sendSynced: true }, options), (event) => ({
      ...event,
      kind: eventKindNamed(OperationEvent_Kind[event.kind]),
      operation: event.snapshot && operationView(event.snapshot),
      json: () => jsonOf(OperationEventSchema, event),
    })),
  logs: ({ operations }, { id, cursor }, options) =>
    mapEach(operations.streamOperationLogs({ operationId: id, cursor }, options), (chunk) => ({
      ...chunk,
      json: () => jsonOf(LogChunkSchema, chunk),
    })),
  machine: async ({ machines }, machineId) => machineView(await machines.getMachine({ machineId })),
};
