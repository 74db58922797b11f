import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { newMachine } from '../api/fleet.ts';
import { callUnary, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { newPlan, storedRows, type V1, v1Of } from './runs.ts';

let server: TestServer;
let v1: V1;
let machineId: string;

beforeAll(async () => {
  server = await startTestServer();
  v1 = v1Of(server);
  machineId = await newMachine(server);
});
afterAll(() => server?.stop());

type Call = Promise<unknown> | AsyncIterable<unknown>;

/** Refused by the caller's fault, with the field named; nothing is stored. */
async function expectRefused(call: () => Call, field: string, reason = 'INVALID_FIELD'): Promise<void> {
  const before = await storedRows(server);
  const error = await refusal(call());
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason, domain: 'ingot' });
  expect(error.violations).toEqual([{ field, description: expect.stringMatching(/./) }]);
  expect([...error.message].every((character) => character >= ' ' && character !== '\u007f')).toBe(true);
  expect(await storedRows(server)).toEqual(before);
}

const START = { machineId: 'm-1', requestId: 'r-1', type: 'REBOOT' };
const LONG = 'x'.repeat(200);

describe('a missing field is named', () => {
  test.each<[method: string, field: string, call: () => Call]>([
    ['RegisterMachine', 'machine', () => v1.machines.registerMachine({})],
    ['UpdateMachine', 'machine', () => v1.machines.updateMachine({})],
    ['UpdateMachine', 'machine.machine_id', () => v1.machines.updateMachine({ machine: {} })],
    ['GetMachine', 'machine_id', () => v1.machines.getMachine({})],
    ['GetPlan', 'plan_id', () => v1.plans.getPlan({})],
    ['StartRun', 'request_id', () => v1.runs.startRun({ ...START, requestId: '' })],
    ['StartRun', 'machine_id', () => v1.runs.startRun({ ...START, machineId: '' })],
    ['StartRun', 'type', () => v1.runs.startRun({ ...START, type: '' })],
    ['GetRun', 'run_id', () => v1.runs.getRun({})],
    ['CancelRun', 'run_id', () => v1.runs.cancelRun({})],
    ['StreamRunLogs', 'run_id', () => v1.runs.streamRunLogs({})],
    ['CreatePlan', 'plan', () => server.admin.createPlan({})],
  ])('%s without %s', async (_method, field, call) => {
    await expectRefused(call, field, 'MISSING_FIELD');
  });
});

describe('a malformed id is named', () => {
  test.each([
    ['a NUL', 'a\u0000b'],
    ['a line break', 'a\nb'],
    ['a line break at its end', 'ab\n'],
    ['an escape', '\u001b[31m'],
    ['a space', 'a b'],
    ['a slash', 'a/b'],
    ['letters of another alphabet', 'план'],
    ['too many characters', LONG],
  ])('with %s', async (_what, id) => {
    const machine = { machineId: id };
    await expectRefused(() => v1.machines.getMachine(machine), 'machine_id');
    await expectRefused(() => v1.machines.registerMachine({ machine }), 'machine.machine_id');
    await expectRefused(() => v1.machines.updateMachine({ machine }), 'machine.machine_id');
    await expectRefused(() => v1.runs.startRun({ ...START, machineId: id }), 'machine_id');
    await expectRefused(() => v1.runs.startRun({ ...START, planId: id }), 'plan_id');
    await expectRefused(() => v1.runs.startRun({ ...START, type: id }), 'type');
    await expectRefused(() => v1.runs.getRun({ runId: id }), 'run_id');
    await expectRefused(() => v1.runs.cancelRun({ runId: id }), 'run_id');
    await expectRefused(() => v1.runs.streamRunLogs({ runId: id }), 'run_id');
    await expectRefused(() => v1.plans.getPlan({ planId: id }), 'plan_id');
  });

  test.each(['a\u0000', 'a b', 'ä', LONG, 'a\n'])('the request id %j', async (requestId) => {
    await expectRefused(() => v1.runs.startRun({ ...START, requestId }), 'request_id');
  });

  test('a reason with control characters or without end', async () => {
    for (const reason of ['a\u0000b', 'a\u001b[2J', 'x'.repeat(1001)])
      await expectRefused(() => v1.runs.cancelRun({ runId: 'op-1', reason }), 'reason');
  });
});

test.each([
  ['spec.ssh_endpoint', { spec: { sshEndpoint: '-oProxyCommand=reboot' } }],
  ['spec.bmc_endpoint', { spec: { bmcEndpoint: 'https://root:secret@host' } }],
  ['spec.mac_addresses[0]', { spec: { macAddresses: ['02:00'] } }],
  ['spec.target_cluster_ref', { spec: { targetClusterRef: 'a b' } }],
  ['spec.provider', { spec: { provider: 'acme' } }],
  ['labels.a', { labels: { a: 'x\u0000' } }],
  ['labels.fake/step-ms', { labels: { 'fake/step-ms': 'soon' } }],
])('a machine with a bad %s is refused', async (field, fields) => {
  await expectRefused(
    () => v1.machines.registerMachine({ machine: { machineId: 'refused', ...fields } }),
    field,
  );
  await expectRefused(() => v1.machines.updateMachine({ machine: { machineId, ...fields } }), field);
});

test('a machine whose label names a provider that is not configured is refused', async () => {
  await expectRefused(
    () => v1.machines.registerMachine({ machine: { machineId: 'refused', labels: { provider: 'dc-1' } } }),
    'labels.provider',
  );
});

test('a mask that names what can’t be updated is refused', async () => {
  for (const path of ['status', 'status.phase', 'machine_id', 'spec.nothing', ''])
    await expectRefused(
      () => v1.machines.updateMachine({ machine: { machineId }, updateMask: { paths: [path] } }),
      'update_mask',
    );
});

describe('lists', () => {
  const LISTS = [
    ['ListMachines', (page: object) => v1.machines.listMachines(page)],
    ['ListRuns', (page: object) => v1.runs.listRuns(page)],
    ['ListPlans', (page: object) => v1.plans.listPlans(page)],
  ] as const;

  test.each(LISTS)('%s refuses a size below 0 and tokens that it did not give out', async (_name, list) => {
    await expectRefused(() => list({ pageSize: -1 }), 'page_size');
    for (const pageToken of [
      'x',
      '\u0000',
      'a'.repeat(5000),
      Buffer.from('[]').toString('base64url'),
      Buffer.from('["AAAAAAAA","x"]').toString('base64url'),
    ])
      await expectRefused(() => list({ pageToken }), 'page_token', 'INVALID_PAGE_TOKEN');
  });

  test('a token is good only for the list and the filter that it came from', async () => {
    await newMachine(server);
    for (let n = 0; n < 2; n += 1)
      await newPlan(server, [{ name: 'a', kind: { case: 'reboot', value: {} } }]);
    const machines = (await v1.machines.listMachines({ pageSize: 1 })).nextPageToken;
    const plans = (await v1.plans.listPlans({ pageSize: 1 })).nextPageToken;
    const theirs = (await server.machines.listMachines({ pageSize: 1 })).nextPageToken;
    for (const token of [machines, plans, theirs]) expect(token).not.toBe('');
    const stranger = 'INVALID_PAGE_TOKEN';
    await expectRefused(() => v1.plans.listPlans({ pageToken: machines }), 'page_token', stranger);
    await expectRefused(() => v1.runs.listRuns({ pageToken: machines }), 'page_token', stranger);
    await expectRefused(() => v1.machines.listMachines({ pageToken: theirs }), 'page_token', stranger);
    await expectRefused(() => v1.machines.listMachines({ pageToken: plans }), 'page_token', stranger);
    await expectRefused(
      () => v1.machines.listMachines({ pageToken: machines, filter: 'phase=READY' }),
      'page_token',
      stranger,
    );
  });

  test.each([
    'rack=1',
    'phase=NOWHERE',
    'machine_id=',
    '(',
    '"',
    '\u0000',
    'NOT '.repeat(5000),
    'a'.repeat(9000),
  ])('the filter %.20j is refused', async (filter) => {
    for (const call of [
      () => v1.machines.listMachines({ filter }),
      () => v1.runs.listRuns({ filter }),
      () => v1.runs.watchRuns({ filter }),
    ])
      await expectRefused(call, 'filter', 'INVALID_FILTER');
  });
});

describe('what is no message at all', () => {
  const METHODS = [...MachineService.methods, ...PlanService.methods, ...RunService.methods]
    .filter((method) => method.methodKind === 'unary')
    .map((method) => `/${method.parent.typeName}/${method.name}`);

  function send(path: string, bytes: Buffer) {
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${server.adminToken}`);
    return callUnary(server.channel, path, bytes, metadata, (answer) => answer);
  }

  test.each([...METHODS, `/${AdminService.typeName}/CreatePlan`])('%s refuses garbage', async (path) => {
    const before = await storedRows(server);
    for (const bytes of [
      Buffer.from([255, 255, 255, 255]),
      Buffer.from([10, 200, 1, 65]),
      Buffer.from('hello'),
    ]) {
      const error = await refusal(send(path, bytes));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'MALFORMED_MESSAGE' });
      expect(error.message).toContain(`${path.split('/').at(-1)}Request`);
    }
    expect(await storedRows(server)).toEqual(before);
  });

  test('a method that does not exist is unimplemented', async () => {
    const path = '/baremetal.v1.PlanService/CreatePlan';
    expect((await refusal(send(path, Buffer.alloc(0)))).code).toBe('UNIMPLEMENTED');
  });
});

describe('who may call', () => {
  const every = (v1: V1): ReadonlyArray<readonly [name: string, role: string, call: () => Call]> => [
    ['RegisterMachine', 'operator', () => v1.machines.registerMachine({})],
    ['GetMachine', 'viewer', () => v1.machines.getMachine({})],
    ['ListMachines', 'viewer', () => v1.machines.listMachines({ pageSize: -1 })],
    ['UpdateMachine', 'operator', () => v1.machines.updateMachine({})],
    ['GetPlan', 'viewer', () => v1.plans.getPlan({})],
    ['ListPlans', 'viewer', () => v1.plans.listPlans({ pageSize: -1 })],
    ['StartRun', 'operator', () => v1.runs.startRun({})],
    ['GetRun', 'viewer', () => v1.runs.getRun({})],
    ['ListRuns', 'viewer', () => v1.runs.listRuns({ pageSize: -1 })],
    ['CancelRun', 'operator', () => v1.runs.cancelRun({})],
    ['WatchRuns', 'viewer', () => v1.runs.watchRuns({ cursor: 'x' })],
    ['StreamRunLogs', 'viewer', () => v1.runs.streamRunLogs({})],
  ];

  test('a viewer reads, an operator works, and a caller without a token does neither', async () => {
    const secretOf = async (role: string) =>
      (await server.admin.createToken({ name: `v1-${role}`, role })).secret;
    const viewer = v1Of(server, await secretOf('viewer'));
    const operator = v1Of(server, await secretOf('operator'));
    const stranger = v1Of(server, 'ingot_guess');
    for (const [index, [name, role]] of every(v1).entries()) {
      const codes = [];
      for (const caller of [stranger, viewer, operator])
        codes.push((await refusal(every(caller)[index]?.[2]() ?? Promise.resolve())).code);
      const asViewer = role === 'viewer' ? 'INVALID_ARGUMENT' : 'PERMISSION_DENIED';
      expect([name, ...codes]).toEqual([name, 'UNAUTHENTICATED', asViewer, 'INVALID_ARGUMENT']);
    }
    const planner = server.client(AdminService, await secretOf('admin'));
    expect((await refusal(planner.createPlan({}))).code).toBe('INVALID_ARGUMENT');
    const notPlanner = server.client(
      AdminService,
      (await server.admin.createToken({ name: 'o', role: 'operator' })).secret,
    );
    expect((await refusal(notPlanner.createPlan({}))).code).toBe('PERMISSION_DENIED');
  });

  test('a run says who started it', async () => {
    const { secret } = await server.admin.createToken({ name: 'ann', role: 'operator' });
    const started = await v1Of(server, secret).runs.startRun({
      machineId,
      requestId: 'by-ann',
      type: 'REBOOT',
    });
    expect(started.startedBy).toBe('operator:ann');
  });
});

test('none of this was unexpected to the server', () => {
  expect(server.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
});
