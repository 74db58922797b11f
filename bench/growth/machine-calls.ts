/** The calls of `baremetal.v2` and `baremetal.v1`: machines, operations, runs and plans. */
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { MachineService as MachineServiceV1 } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunEvent_Kind } from '../../src/gen/baremetal/v1/run_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';

import { OperationEvent_Kind, OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { type GrowthCall, inMaintenance, slow, stream, type Turn, unary } from './call.ts';
import { FLEET_SHAPE } from './fill.ts';

const machines = MachineService.method;
const operations = OperationService.method;
const runs = RunService.method;

const PAGE = 100;
/** Few at any size: the newest machines, of which no more come with a larger fleet. */
const FEW = `labels.batch=${FLEET_SHAPE.lastBatch}`;
const UNDER_WAY = 'status = pending OR status = running OR status = compensating';

async function oneEnded({ sql, machineId }: Turn): Promise<string> {
  const { rows } = await sql.query<{ id: string }>(
    'SELECT operation_id AS id FROM operations WHERE machine_id = $1 ORDER BY operation_id DESC LIMIT 1',
    [machineId],
  );
  if (rows[0] === undefined) throw new Error(`${machineId} has no operation`);
  return rows[0].id;
}

async function underWay(turn: Turn): Promise<string> {
  const machineId = await slow(turn);
  const { operationId } = await turn.client.unary(machines.rebootMachine, {
    machineId,
    requestId: turn.unique,
  });
  return operationId;
}

async function secondPage(turn: Turn): Promise<string> {
  return (await turn.client.unary(machines.listMachines, { pageSize: PAGE })).nextPageToken;
}

export const READ_MACHINES: readonly GrowthCall[] = [
  unary(machines.getMachine, { use: 'daily', request: ({ machineId }) => ({ machineId }) }),
  ...(
    [
      ['first page', ''],
      ['one label that few have', FEW],
      ['one phase', 'phase=READY'],
      ['one state', 'effective_state=ATTENTION'],
      ['one customer', 'customer_id=customer-3'],
      ['one pool', 'pool=pool-3'],
      ['one rack', 'location.rack="r7"'],
      ['lost agents', 'presence=expired'],
      ['a serial number', 'serial="SN3"'],
      ['a state and a label that few have', `effective_state=IDLE AND ${FEW}`],
    ] as const
  ).map(([variant, filter]) =>
    unary(machines.listMachines, { use: 'daily', variant, request: () => ({ filter, pageSize: PAGE }) }),
  ),
  unary(machines.listMachines, {
    use: 'daily',
    variant: 'next page',
    request: async (turn) => ({ pageSize: PAGE, pageToken: await secondPage(turn) }),
  }),
  unary(MachineServiceV1.method.getMachine, {
    use: 'daily',
    request: ({ machineId }) => ({ machineId }),
  }),
  unary(MachineServiceV1.method.listMachines, { use: 'daily', request: () => ({ pageSize: PAGE }) }),
];

export const WRITE_MACHINES: readonly GrowthCall[] = [
  unary(machines.registerMachine, {
    use: 'daily',
    request: ({ unique }) => ({ machine: { machineId: `new-${unique}` } }),
  }),
  unary(machines.updateMachine, {
    use: 'daily',
    request: ({ machineId, unique }) => ({ machine: { machineId, labels: { turn: unique } } }),
  }),
  unary(machines.rebootMachine, {
    use: 'daily',
    request: ({ machineId, unique }) => ({ machineId, requestId: unique }),
  }),
  unary(machines.reimageMachine, {
    use: 'daily',
    request: async (turn) => ({ machineId: await inMaintenance(turn), requestId: turn.unique }),
  }),
  unary(machines.enterMaintenance, {
    use: 'daily',
    request: ({ machineId, unique }) => ({ machineId, requestId: unique }),
  }),
  unary(machines.exitMaintenance, {
    use: 'daily',
    request: async (turn) => ({ machineId: await inMaintenance(turn), requestId: turn.unique }),
  }),
  unary(machines.cancelOperation, {
    use: 'daily',
    request: async (turn) => ({ operationId: await underWay(turn) }),
  }),
  unary(MachineServiceV1.method.registerMachine, {
    use: 'daily',
    request: ({ unique }) => ({ machine: { machineId: `new-v1-${unique}` } }),
  }),
  unary(MachineServiceV1.method.updateMachine, {
    use: 'daily',
    request: ({ machineId, unique }) => ({ machine: { machineId, labels: { turn: unique } } }),
  }),
];

export const OPERATION_CALLS: readonly GrowthCall[] = [
  unary(operations.getOperation, {
    use: 'daily',
    request: async (turn) => ({ operationId: await oneEnded(turn) }),
  }),
  ...(
    [
      ['first page', ''],
      ['under way', UNDER_WAY],
      ['failed', 'phase = FAILED'],
      ['canceled', 'phase = CANCELED'],
      ['one type', 'type = REIMAGE'],
      ['one type, failed', 'type = REIMAGE AND phase = FAILED'],
      ['a type that few have', 'type = MIGRATE'],
      ['an error that few have', 'error.code = FEW_HAVE_IT'],
    ] as const
  ).map(([variant, filter]) =>
    unary(operations.listOperations, { use: 'daily', variant, request: () => ({ filter, pageSize: PAGE }) }),
  ),
  unary(operations.listOperations, {
    use: 'daily',
    variant: 'of one machine',
    request: ({ machineId }) => ({ filter: `machine_id = "${machineId}"`, pageSize: PAGE }),
  }),
  stream(operations.watchOperations, {
    use: 'daily',
    variant: 'of one machine, until it is in sync',
    request: ({ machineId }) => ({ filter: `machine_id = "${machineId}"`, sendSynced: true }),
    last: ({ kind }) => kind === OperationEvent_Kind.SYNCED,
  }),
  stream(operations.streamOperationLogs, {
    use: 'daily',
    request: async (turn) => ({ operationId: await oneEnded(turn) }),
  }),
];

export const RUN_CALLS: readonly GrowthCall[] = [
  unary(runs.startRun, {
    use: 'daily',
    request: ({ machineId, unique }) => ({ machineId, requestId: unique, type: 'REBOOT' }),
  }),
  unary(runs.getRun, { use: 'daily', request: async (turn) => ({ runId: await oneEnded(turn) }) }),
  unary(runs.listRuns, { use: 'daily', request: () => ({ pageSize: PAGE }) }),
  unary(runs.cancelRun, { use: 'daily', request: async (turn) => ({ runId: await underWay(turn) }) }),
  stream(runs.watchRuns, {
    use: 'daily',
    variant: 'of one machine, until it is in sync',
    request: ({ machineId }) => ({ filter: `machine_id = "${machineId}"`, sendSynced: true }),
    last: ({ kind }) => kind === RunEvent_Kind.SYNCED,
  }),
  stream(runs.streamRunLogs, { use: 'daily', request: async (turn) => ({ runId: await oneEnded(turn) }) }),
  unary(PlanService.method.listPlans, { use: 'daily', request: () => ({}) }),
  unary(PlanService.method.getPlan, {
    use: 'daily',
    request: async ({ client, unique }) => {
      const steps = [{ name: 'one', kind: { case: 'reboot', value: {} } } as const];
      const plan = { planId: `plan-${unique}`, steps };
      return { planId: (await client.unary(AdminService.method.createPlan, { plan })).planId };
    },
  }),
];
