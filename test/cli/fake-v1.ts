/** baremetal.v1 on a fake fleet: the same machines and operations as runs (docs/api-v1.md). */
import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import type { Conditions } from '../../src/domain/condition/condition.ts';
import type { Phase } from '../../src/domain/machine/phase.ts';
import { RUN_TYPES, type RunType } from '../../src/domain/v1/run-type.ts';
import { V1_BANNERS, v1EffectiveState, v1Phase } from '../../src/domain/v1/v1-phase.ts';
import { MachineSchema, MachineStatus_Phase as V1Phase } from '../../src/gen/baremetal/v1/machine_pb.ts';
import {
  LogChunkSchema,
  type Run,
  RunEventSchema,
  RunSchema,
  StepStatus_State as V1State,
} from '../../src/gen/baremetal/v1/run_pb.ts';
import { type Machine, MachineStatus_Phase } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { type Operation, OperationType, StepStatus_State } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { type FakeFleet, type FakeWatch, type Handler, page, WireFault } from './fake-server.ts';

function runOf(operation: Operation): Run {
  const { machineId, requestId, type, planId, currentStep, cancelRequested, error } = operation;
  const { createdAt, startedAt, finishedAt, startedBy, progressPercent } = operation;
  return create(RunSchema, {
    runId: operation.operationId,
    machineId,
    requestId,
    type: type === OperationType.REIMAGE ? 'REPAVE' : (OperationType[type] ?? ''),
    planId,
    phase: operation.phase as number,
    steps: operation.steps.map(({ $typeName: _, state, ...step }) => ({
      ...step,
      state: state === StepStatus_State.UNDONE ? V1State.FAILED : (state as number),
    })),
    currentStep,
    cancelRequested,
    startedBy,
    progressPercent,
    ...(createdAt && { createdAt }),
    ...(startedAt && { startedAt }),
    ...(finishedAt && { finishedAt }),
    ...(error && { error: { code: error.code, message: error.message } }),
  });
}

function v1Machine({ machineId, status: known }: Machine) {
  const conditions = known?.conditions ?? [];
  const machine = {
    phase: (MachineStatus_Phase[known?.phase ?? 0] ?? '') as Phase,
    conditions: Object.fromEntries(conditions.map((c) => [c.type, { status: c.status }])) as Conditions,
    activeOperationId: known?.activeOperationId || null,
  };
  return create(MachineSchema, {
    machineId,
    status: {
      phase: V1Phase[v1Phase(machine)],
      effectiveState: V1Phase[v1EffectiveState(machine)],
      banners: V1_BANNERS.filter((type) => machine.conditions[type]?.status === true),
      activeRunId: known?.activeOperationId ?? '',
      conditions: conditions.map(({ type, status }) => ({ type, status })),
    },
  });
}

async function* watchRuns(fleet: FakeFleet, request: FakeWatch) {
  const filter = request.filter.replaceAll('run_id=', 'operation_id=');
  for await (const event of fleet.watch({ ...request, filter })) {
    const { $typeName: _, snapshot, kind, ...same } = event;
    yield create(RunEventSchema, {
      ...same,
      kind: kind as number,
      ...(snapshot && { snapshot: runOf(snapshot) }),
    });
  }
}

async function* logsOf(fleet: FakeFleet, { runId, cursor }: { runId: string; cursor: string }) {
  for await (const chunk of fleet.logsOf({ operationId: runId, cursor })) {
    const { $typeName: _, operationId: _id, ...same } = chunk;
    yield create(LogChunkSchema, { ...same, runId });
  }
}

export function v1HandlersOf(fleet: FakeFleet): Record<string, Handler> {
  return {
    getMachine: ({ machineId }) => v1Machine(fleet.machine(machineId)),
    getPlan: ({ planId }) => {
      const plan = fleet.plans.get(planId);
      if (plan !== undefined) return plan;
      throw new WireFault(status.NOT_FOUND, `there is no plan ${planId}`, { reason: 'PLAN_NOT_FOUND' });
    },
    listPlans: (request) => {
      const { items, nextPageToken } = page(fleet, [...fleet.plans.values()], request);
      return { plans: items, nextPageToken };
    },
    startRun: (request) => {
      const { operationType } = RUN_TYPES[request.type as RunType];
      return runOf(fleet.start(OperationType[operationType], request));
    },
    getRun: ({ runId }) => runOf(fleet.operation(runId)),
    listRuns: (request) => {
      const { items, nextPageToken } = page(fleet, fleet.operationsOf(request.filter), request);
      return { runs: items.map(runOf), nextPageToken };
    },
    cancelRun: ({ runId }) => {
      fleet.change(runId, { cancelRequested: true });
      return runOf(fleet.operation(runId));
    },
    watchRuns: (request) => watchRuns(fleet, request),
    streamRunLogs: (request) => logsOf(fleet, request),
  };
}
