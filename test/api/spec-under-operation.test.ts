/** What an operation acts on stays the same until it ends. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { v1Of } from '../api-v1/runs.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { ended, fresh, get, run, start, waitingAt } from './fleet.ts';

let server: TestServer;
let count = 0;

beforeAll(async () => {
  server = await startTestServer({ providers: { 'dc-1': { kind: 'fake' } } });
});
afterAll(() => server?.stop());

const LABELS = { 'fake/step-ms': '1', 'fake/hang-step': 'reboot', note: 'a' };

/** No two machines have the same endpoints. */
function specOf() {
  count += 1;
  return {
    sshEndpoint: `10.9.0.${count}:22`,
    bmcEndpoint: `10.9.1.${count}`,
    targetClusterRef: 'east',
    macAddresses: [`02:09:00:00:00:0${count.toString(16)}`],
    provider: 'fake',
    customerId: 'acme',
  };
}

async function busyMachine() {
  const machineId = fresh('busy');
  const spec = specOf();
  await server.machines.registerMachine({ machine: { machineId, labels: LABELS, spec } });
  await run(server, 'ENTER_MAINTENANCE', machineId);
  const operation = await start(server, 'REBOOT', machineId);
  await waitingAt(server, operation, 'reboot');
  return { machineId, spec, operationId: operation.operationId };
}

type Change = readonly [
  path: string,
  spec: Partial<ReturnType<typeof specOf>>,
  labels: Record<string, string>,
];

const CHANGES: readonly Change[] = [
  ['spec.ssh_endpoint', { sshEndpoint: '10.9.9.1:22' }, {}],
  ['spec.bmc_endpoint', { bmcEndpoint: '10.9.9.2' }, {}],
  ['spec.target_cluster_ref', { targetClusterRef: 'west' }, {}],
  ['spec.mac_addresses', { macAddresses: ['02:09:00:00:00:ff'] }, {}],
  ['spec.provider', { provider: 'dc-1' }, {}],
  ['labels.fake/hang-step', {}, { 'fake/hang-step': 'repave' }],
  ['labels.fake/fail-step', {}, { 'fake/fail-step': 'reboot' }],
];

test('while an operation is active, what its steps read is refused in every way to change it', async () => {
  const { machineId, spec, operationId } = await busyMachine();
  const before = await get(server, machineId);
  const v1 = v1Of(server).machines;
  for (const [path, changedSpec, changedLabels] of CHANGES) {
    const machine = {
      machineId,
      labels: { ...LABELS, ...changedLabels },
      spec: { ...spec, ...changedSpec },
    };
    for (const call of [
      () => server.machines.updateMachine({ machine, updateMask: { paths: [path] } }),
      () => server.machines.updateMachine({ machine, updateMask: { paths: [path.split('.')[0] ?? ''] } }),
      () => server.machines.updateMachine({ machine }),
      () => server.machines.registerMachine({ machine }),
      () => v1.updateMachine({ machine, updateMask: { paths: [path] } }),
      () => v1.registerMachine({ machine }),
    ]) {
      const error = await refusal(call());
      expect(error).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'OPERATION_ACTIVE' });
      expect(error.metadata.operation_id).toContain(operationId.slice(operationId.indexOf('-') + 1));
      expect(error.metadata).toMatchObject({ machine_id: machineId, fields: path });
      expect(error.message).toContain(path);
      expect(error.message).toContain('cancel');
    }
  }
  expect(await get(server, machineId)).toEqual(before);
  await server.machines.cancelOperation({ operationId });
});

test('of a change and a start at the same time, the change is refused or all steps see it', {
  tags: ['extended'],
}, async () => {
  for (let round = 0; round < 15; round += 1) {
    const machineId = fresh('race');
    await server.machines.registerMachine({
      machine: { machineId, labels: LABELS, spec: { provider: 'fake' } },
    });
    await run(server, 'ENTER_MAINTENANCE', machineId);
    const change = () =>
      server.machines.updateMachine({
        machine: { machineId, spec: { targetClusterRef: 'west' } },
        updateMask: { paths: ['spec.target_cluster_ref'] },
      });
    const starting = start(server, 'REBOOT', machineId);
    const [changed, { operationId }] = await Promise.all([
      change().then(() => true, refusedAsActive),
      starting,
    ]);
    const order = await server.sql<{ to_state: string }>(
      `SELECT to_state FROM events WHERE machine_id = $1 AND (to_state = 'updated' OR operation_id = $2 AND to_state = 'pending')
       ORDER BY event_id`,
      [machineId, operationId],
    );
    expect(order.map(({ to_state }) => to_state)).toEqual(changed ? ['updated', 'pending'] : ['pending']);
    await server.machines.cancelOperation({ operationId });
  }
});

async function refusedAsActive(error: unknown): Promise<false> {
  expect(await refusal(Promise.reject(error))).toMatchObject({ reason: 'OPERATION_ACTIVE' });
  return false;
}

test('the same values again, other labels and what no step reads are free', async () => {
  const { machineId, spec, operationId } = await busyMachine();
  const machine = { machineId, labels: LABELS, spec };
  await server.machines.registerMachine({ machine });
  const free = {
    machineId,
    labels: { ...LABELS, note: 'b' },
    spec: { ...spec, customerId: 'umbrella', serial: 'SN-1', location: { rack: 'r1' } },
  };
  const updated = await server.machines.updateMachine({ machine: free });
  expect(updated).toMatchObject({ labels: { note: 'b' }, spec: { customerId: 'umbrella', serial: 'SN-1' } });
  expect(updated.status?.activeOperationId).toBe(operationId);
  await server.machines.cancelOperation({ operationId });
});

test('once the operation has ended, also in failure, everything can be changed', async () => {
  const { machineId, spec, operationId } = await busyMachine();
  await server.machines.cancelOperation({ operationId });
  await ended(server, { operationId });
  const failing = { 'fake/step-ms': '1', 'fake/fail-step': 'reboot' };
  await server.machines.updateMachine({ machine: { machineId, labels: failing } });
  await run(server, 'REBOOT', machineId);
  const moved = { ...spec, bmcEndpoint: '10.9.9.3', sshEndpoint: '10.9.9.4:22' };
  const { spec: now } = await server.machines.updateMachine({ machine: { machineId, spec: moved } });
  expect(now).toMatchObject(moved);
});
