/** Rollouts of a fake fleet: every machine starts at once, in one wave, and moves as a test plays its operation. */
import { once } from 'node:events';
import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import {
  type CreateRolloutRequest,
  MachineCountsSchema,
  type Rollout,
  Rollout_State,
  type RolloutEvent,
  RolloutEvent_Kind,
  RolloutEventSchema,
  type RolloutMachine,
  RolloutMachine_State,
  RolloutMachineSchema,
  RolloutSchema,
  type RolloutStep,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { Operation_Phase, OperationType } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { at, type FakeFleet, type Handler, page, WireFault } from './fake-server.ts';

const TYPES = {
  reboot: OperationType.REBOOT,
  reimage: OperationType.REIMAGE,
  enterMaintenance: OperationType.ENTER_MAINTENANCE,
  exitMaintenance: OperationType.EXIT_MAINTENANCE,
  plan: OperationType.REIMAGE,
  onboard: OperationType.ONBOARD,
  decommission: OperationType.DECOMMISSION,
  drain: OperationType.DRAIN,
  remove: OperationType.REMOVE,
  erase: OperationType.ERASE,
  verify: OperationType.OPERATION_TYPE_UNSPECIFIED,
} as const satisfies Record<NonNullable<RolloutStep['step']['case']>, OperationType>;

const STATES = {
  [Operation_Phase.PHASE_UNSPECIFIED]: RolloutMachine_State.PENDING,
  [Operation_Phase.PENDING]: RolloutMachine_State.RUNNING,
  [Operation_Phase.RUNNING]: RolloutMachine_State.RUNNING,
  [Operation_Phase.SUCCEEDED]: RolloutMachine_State.SUCCEEDED,
  [Operation_Phase.FAILED]: RolloutMachine_State.FAILED,
  [Operation_Phase.CANCELED]: RolloutMachine_State.CANCELED,
} as const satisfies Record<Operation_Phase, RolloutMachine_State>;

const { INELIGIBLE, RUNNING, SUCCEEDED, FAILED, CANCELED } = RolloutMachine_State;

interface Stored {
  readonly request: CreateRolloutRequest;
  readonly rolloutId: string;
  /** The operation of each machine; absent where its start was refused. */
  readonly operationIds: Map<string, string>;
}

const rolloutsOf = new WeakMap<FakeFleet, Stored[]>();

function stored(fleet: FakeFleet): Stored[] {
  const all = rolloutsOf.get(fleet) ?? [];
  rolloutsOf.set(fleet, all);
  return all;
}

function find(fleet: FakeFleet, rolloutId: string): Stored {
  const found = stored(fleet).find((each) => each.rolloutId === rolloutId);
  if (found !== undefined) return found;
  throw new WireFault(status.NOT_FOUND, `rollout ${rolloutId} not found`, { reason: 'ROLLOUT_NOT_FOUND' });
}

function machinesOf(fleet: FakeFleet, { request, operationIds }: Stored): RolloutMachine[] {
  return (request.spec?.machineIds ?? []).map((machineId) => {
    const operationId = operationIds.get(machineId) ?? '';
    if (operationId === '') {
      const refusal = fleet.refusals.get(machineId) ?? {
        errorCode: 'MACHINE_NOT_FOUND',
        message: 'no machine',
      };
      return create(RolloutMachineSchema, { machineId, wave: 1, state: INELIGIBLE, ...refusal });
    }
    const { phase, error, createdAt, startedAt = createdAt, finishedAt } = fleet.operation(operationId);
    return create(RolloutMachineSchema, {
      machineId,
      wave: 1,
      state: STATES[phase],
      operationId,
      errorCode: error?.code ?? '',
      message: error?.message ?? '',
      ...(startedAt && { startedAt }),
      ...(finishedAt && { finishedAt }),
    });
  });
}

function viewOf(fleet: FakeFleet, one: Stored): Rollout {
  const machines = machinesOf(fleet, one);
  const count = (state: RolloutMachine_State) => machines.filter((machine) => machine.state === state).length;
  const counts = create(MachineCountsSchema, {
    total: machines.length,
    running: count(RUNNING),
    succeeded: count(SUCCEEDED),
    failed: count(FAILED),
    canceled: count(CANCELED),
    ineligible: count(INELIGIBLE),
  });
  const end = counts.failed > 0 ? Rollout_State.FAILED : Rollout_State.SUCCEEDED;
  return create(RolloutSchema, {
    rolloutId: one.rolloutId,
    ...(one.request.spec && { spec: one.request.spec }),
    state: counts.running > 0 ? Rollout_State.RUNNING : end,
    waves: [{ number: 1, state: Wave_State.RUNNING, machines: counts }],
    machines: counts,
    createdAt: at(0),
  });
}

async function* watch(fleet: FakeFleet, rolloutId: string): AsyncGenerator<RolloutEvent> {
  const one = find(fleet, rolloutId);
  let kind = RolloutEvent_Kind.SNAPSHOT;
  const sent = new Map<string, RolloutMachine_State>();
  for (;;) {
    // Asked for before the state is read, so that no change falls between the two.
    const news = once(fleet.news, 'news');
    const changed = machinesOf(fleet, one).filter(({ machineId, state }) => sent.get(machineId) !== state);
    for (const { machineId, state } of changed) sent.set(machineId, state);
    const rollout = viewOf(fleet, one);
    const machines = kind === RolloutEvent_Kind.SNAPSHOT ? [] : changed;
    yield create(RolloutEventSchema, { kind, rollout, machines, cursor: String(sent.size) });
    kind = RolloutEvent_Kind.CHANGE;
    if (rollout.state !== Rollout_State.RUNNING) return;
    await news;
  }
}

export function rolloutHandlersOf(fleet: FakeFleet): Record<string, Handler> {
  return {
    createRollout: (request: CreateRolloutRequest) => {
      const again = stored(fleet).find((each) => each.request.requestId === request.requestId);
      if (again !== undefined) return viewOf(fleet, again);
      const one = { request, rolloutId: `ro-${stored(fleet).length + 1}`, operationIds: new Map() };
      const type = TYPES[request.spec?.steps[0]?.step.case ?? 'verify'];
      for (const machineId of request.spec?.machineIds ?? []) {
        if (fleet.refusals.has(machineId) || !fleet.machines.has(machineId)) continue;
        const { operationId } = fleet.start(type, { machineId, requestId: `${one.rolloutId}-${machineId}` });
        one.operationIds.set(machineId, operationId);
      }
      stored(fleet).push(one);
      return viewOf(fleet, one);
    },
    getRollout: ({ rolloutId }) => viewOf(fleet, find(fleet, rolloutId)),
    watchRollout: ({ rolloutId }) => watch(fleet, rolloutId),
    listRolloutMachines: (request) => {
      const { items, nextPageToken } = page(
        fleet,
        machinesOf(fleet, find(fleet, request.rolloutId)),
        request,
      );
      return { machines: items, nextPageToken };
    },
  };
}
