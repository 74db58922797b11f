import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { EffectiveState_Value, MachineStatus_Phase } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { ended, fresh, get, newMachine, rowCounts, start, statusOf } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const SPEC = {
  sshEndpoint: '10.20.30.40:22',
  bmcEndpoint: 'https://10.20.30.41/redfish',
  targetClusterRef: 'prod-east',
  macAddresses: ['02:00:00:00:00:01', '02:00:00:00:00:02'],
  provider: 'fake',
};

/** Each test has the hardware for itself: what earlier ones registered gives it up. */
beforeEach(async () => {
  await server.sql(`UPDATE machines SET spec = '{"provider": "fake"}'`);
});

/** What a client would send to take a machine over. */
const FORGED_STATUS = {
  phase: MachineStatus_Phase.READY,
  effectiveState: EffectiveState_Value.IDLE,
  activeOperationId: 'op-forged',
  conditions: [{ type: 'Provisioned', status: true, reason: 'Forged' }],
};

async function registered(labels: Record<string, string> = { env: 'prod', rack: 'r42' }): Promise<string> {
  const machineId = fresh('server');
  await server.machines.registerMachine({ machine: { machineId, labels, spec: SPEC } });
  return machineId;
}

async function historyOf(machineId: string): Promise<string[]> {
  const rows = await server.sql<{ line: string }>(
    `SELECT to_state || ' by ' || actor_kind || ':' || actor_id AS line FROM events
     WHERE machine_id = $1 AND kind = 'machine' ORDER BY event_id`,
    [machineId],
  );
  return rows.map(({ line }) => line);
}

test('a machine without an id gets one, and is new', async () => {
  const first = await server.machines.registerMachine({ machine: {} });
  const second = await server.machines.registerMachine({ machine: {} });
  expect(first.machineId).toMatch(/^m-[0-9a-z]{26}$/);
  expect(second.machineId).not.toBe(first.machineId);
  expect(statusOf(first)).toEqual({
    phase: 'FACTORY_READY',
    effectiveState: 'NEW',
    activeOperationId: '',
    conditions: {},
  });
  expect(first.spec?.provider).toBe('fake');
  expect(await get(server, first.machineId)).toEqual(first);
});

test('a machine keeps the id, labels and spec that it is registered with', async () => {
  const labels = { env: 'prod', 'example.com/zone': 'a – ö' };
  const machine = await get(server, await registered(labels));
  expect(machine.labels).toEqual(labels);
  expect(machine.spec).toMatchObject(SPEC);
});

test('MAC addresses are kept in lower case with colons', async () => {
  const spec = { macAddresses: ['AA-BB-CC-DD-EE-0F', '02:00:00:00:00:0A'] };
  const machine = await server.machines.registerMachine({ machine: { spec } });
  expect(machine.spec?.macAddresses).toEqual(['aa:bb:cc:dd:ee:0f', '02:00:00:00:00:0a']);
});

test('registering an existing id replaces spec and labels, and nothing else', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { old: 'yes' } });
  const flag = MachineFlag_Value.RMA;
  const before = await server.admin.flagMachine({ machineId, flag, reason: 'disk' });
  const after = await server.machines.registerMachine({
    machine: { machineId, labels: { new: 'yes' }, spec: SPEC },
  });
  expect(after.labels).toEqual({ new: 'yes' });
  expect(after.spec).toMatchObject(SPEC);
  expect(after.status).toEqual(before.status);
  expect(after.createdAt).toEqual(before.createdAt);
  expect(await get(server, machineId)).toEqual(after);
});

test('registering the same machine again changes nothing, and leaves no trace', async () => {
  const machineId = await registered();
  const before = await get(server, machineId);
  const again = { machineId, labels: { rack: 'r42', env: 'prod' }, spec: SPEC };
  expect(await server.machines.registerMachine({ machine: again })).toEqual(before);
  expect(await historyOf(machineId)).toEqual(['registered by admin:admin']);
});

test('registering one id many times at once makes one machine', async () => {
  const machineId = fresh('crowd');
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      server.machines.registerMachine({ machine: { machineId, labels: { index: String(index) } } }),
    ),
  );
  expect(new Set(answers.map((machine) => machine.machineId))).toEqual(new Set([machineId]));
  expect((await historyOf(machineId)).filter((line) => line.startsWith('registered'))).toHaveLength(1);
});

test('a status that a client sends is ignored', async () => {
  const { machineId } = await server.machines.registerMachine({ machine: { status: FORGED_STATUS } });
  const update = { machineId, labels: { a: 'b' }, status: FORGED_STATUS };
  await server.machines.updateMachine({ machine: update });
  const again = { machineId, spec: { sshEndpoint: 'host' }, status: FORGED_STATUS };
  await server.machines.registerMachine({ machine: again });
  expect(statusOf(await get(server, machineId))).toEqual({
    phase: 'FACTORY_READY',
    effectiveState: 'NEW',
    activeOperationId: '',
    conditions: {},
  });
});

test('an update in the middle of an operation leaves the operation alone', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  const machine = { machineId, labels: { a: 'b' }, status: { activeOperationId: '' } };
  const updateMask = { paths: ['labels.a'] };
  const updated = await server.machines.updateMachine({ machine, updateMask });
  expect(statusOf(updated)).toMatchObject({ activeOperationId: operationId, effectiveState: 'BUSY' });
  await server.machines.cancelOperation({ operationId });
  await ended(server, { operationId });
});

test('a machine that does not exist is not found by any call', async () => {
  const machineId = 'nonexistent';
  for (const call of [
    () => server.machines.getMachine({ machineId }),
    () => server.machines.updateMachine({ machine: { machineId, labels: { a: 'b' } } }),
    () => server.machines.rebootMachine({ machineId, requestId: 'r' }),
    () => server.admin.clearNeedsIntervention({ machineId, reason: 'inspected' }),
  ]) {
    expect(await refusal(call())).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'MACHINE_NOT_FOUND',
      domain: 'ingot',
      metadata: { machine_id: machineId },
    });
  }
});

test('an update without a mask replaces what the message has, as a whole', async () => {
  const machineId = await registered();
  const labelled = await server.machines.updateMachine({ machine: { machineId, labels: { only: 'this' } } });
  expect(labelled.labels).toEqual({ only: 'this' });
  expect(labelled.spec).toMatchObject(SPEC);
  const moved = await server.machines.updateMachine({
    machine: { machineId, spec: { sshEndpoint: 'b:22' } },
  });
  expect(moved.labels).toEqual({ only: 'this' });
  expect(moved.spec).toMatchObject({
    sshEndpoint: 'b:22',
    bmcEndpoint: '',
    macAddresses: [],
    provider: 'fake',
  });
  expect(await historyOf(machineId)).toEqual([
    'registered by admin:admin',
    'updated by admin:admin',
    'updated by admin:admin',
  ]);
});

const NEW_LABELS = { env: 'test', added: 'yes' };
const NEW_SPEC = { sshEndpoint: 'other:2222', macAddresses: ['02:00:00:00:00:09'] };

test.each([
  { paths: ['labels'], labels: NEW_LABELS, spec: SPEC },
  { paths: ['labels.env'], labels: { env: 'test', rack: 'r42' }, spec: SPEC },
  { paths: ['labels.added'], labels: { env: 'prod', rack: 'r42', added: 'yes' }, spec: SPEC },
  { paths: ['labels.rack'], labels: { env: 'prod' }, spec: SPEC },
  {
    paths: ['spec'],
    labels: { env: 'prod', rack: 'r42' },
    spec: { ...NEW_SPEC, bmcEndpoint: '', targetClusterRef: '', provider: 'fake' },
  },
  {
    paths: ['spec.ssh_endpoint'],
    labels: { env: 'prod', rack: 'r42' },
    spec: { ...SPEC, sshEndpoint: NEW_SPEC.sshEndpoint },
  },
  {
    paths: ['spec.mac_addresses'],
    labels: { env: 'prod', rack: 'r42' },
    spec: { ...SPEC, macAddresses: NEW_SPEC.macAddresses },
  },
  {
    paths: ['spec.bmc_endpoint', 'spec.target_cluster_ref'],
    labels: { env: 'prod', rack: 'r42' },
    spec: { ...SPEC, bmcEndpoint: '', targetClusterRef: '' },
  },
  {
    paths: ['spec.provider', 'labels.rack', 'labels.added'],
    labels: { env: 'prod', added: 'yes' },
    spec: SPEC,
  },
])('an update with the mask $paths changes that and leaves the rest', async ({ paths, labels, spec }) => {
  const machineId = await registered();
  const updated = await server.machines.updateMachine({
    machine: { machineId, labels: NEW_LABELS, spec: NEW_SPEC },
    updateMask: { paths },
  });
  expect(updated.labels).toEqual(labels);
  expect(updated.spec).toMatchObject(spec);
  expect(await get(server, machineId)).toEqual(updated);
});

test('a mask can empty the labels, which an update without one can’t', async () => {
  const machineId = await registered();
  const without = await server.machines.updateMachine({ machine: { machineId, labels: {} } });
  expect(without.labels).not.toEqual({});
  const masked = await server.machines.updateMachine({
    machine: { machineId },
    updateMask: { paths: ['labels'] },
  });
  expect(masked.labels).toEqual({});
});

test('a label with a dot in its name can be named by a mask', async () => {
  const machineId = await registered({ 'example.com/zone': 'a', rack: 'r42' });
  const paths = ['labels.example.com/zone'];
  const machine = { machineId, labels: { 'example.com/zone': 'b' } };
  expect((await server.machines.updateMachine({ machine, updateMask: { paths } })).labels).toEqual({
    'example.com/zone': 'b',
    rack: 'r42',
  });
});

test.each([
  'status',
  'status.phase',
  'machine_id',
  'spec.nope',
  'nope',
  'labels.',
  '',
  'constructor',
  '__proto__',
])('an update with the mask path %j is refused, and says which paths there are', async (path) => {
  const machineId = await registered();
  const before = await get(server, machineId);
  const counts = await rowCounts(server);
  const machine = { machineId, labels: NEW_LABELS, spec: NEW_SPEC };
  const error = await refusal(
    server.machines.updateMachine({ machine, updateMask: { paths: ['labels', path] } }),
  );
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' });
  expect(error.violations).toEqual([
    { field: 'update_mask', description: expect.stringContaining('spec.ssh_endpoint') },
  ]);
  expect(await get(server, machineId)).toEqual(before);
  expect(await rowCounts(server)).toEqual(counts);
});

test('who registered and updated a machine is in its history', async () => {
  const { secret } = await server.admin.createToken({ name: 'robot-7', role: 'operator' });
  const robot = server.client(MachineService, secret);
  const { machineId } = await robot.registerMachine({ machine: {} });
  await robot.updateMachine({ machine: { machineId, labels: { a: 'b' } } });
  expect(await historyOf(machineId)).toEqual([
    'registered by operator:robot-7',
    'updated by operator:robot-7',
  ]);
});
