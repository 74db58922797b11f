/** By which address a node is known: netboot, reports and REST must not mistake one machine for another. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { boot, call, createNode, newMac, nodeOf, report, setState } from './rest.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  const { status } = await call(server, 'POST', '/workflows', {
    name: 'ubuntu',
    cmdline: 'ingot.mac={mac} ingot.token={boot_token}',
    image: { url: 'http://images.example/ubuntu.img', sha256: '0'.repeat(64), size_bytes: 1 },
  });
  afterAll(() => server?.stop());
  expect(status).toBe(201);
});

async function pendingNode() {
  const node = await createNode(server, { workflow: 'ubuntu' });
  await setState(server, node.id, 'pending');
  return node;
}

const update = (machineId: string, macAddresses: string[]) =>
  server.machines.updateMachine({
    machine: { machineId, spec: { macAddresses } },
    updateMask: { paths: ['spec.mac_addresses'] },
  });

it('the address of a node follows the spec, and an address that is removed from the spec can be used by the next machine that claims it', async () => {
  const node = await pendingNode();
  const replaced = newMac();
  await update(node.id, [replaced]);
  expect((await nodeOf(server, node.id)).mac_address).toBe(replaced);
  const { machineId } = await server.machines.registerMachine({
    machine: { spec: { macAddresses: [node.mac] } },
  });
  const other = await boot(server, node.mac);
  expect(other.token).toBeNull();
  expect(other.script).toContain(machineId);
  expect((await nodeOf(server, machineId)).mac_address).toBe(node.mac);
  const own = await boot(server, replaced);
  expect(own.script).toContain(`ingot.mac=${replaced}`);
  expect(own.script).toContain(node.id);
});

it('the address that a spec without addresses gave up is still its own until another machine claims it', async () => {
  const node = await pendingNode();
  await update(node.id, []);
  expect((await boot(server, node.mac)).script).toContain(node.id);
  const { machineId } = await server.machines.registerMachine({
    machine: { spec: { macAddresses: [node.mac] } },
  });
  expect((await boot(server, node.mac)).script).toContain(machineId);
  expect((await call(server, 'POST', '/nodes', { mac_address: node.mac })).status).toBe(409);
  const replaced = newMac();
  await update(node.id, [replaced]);
  expect((await boot(server, replaced)).script).toContain(node.id);
});

it('a node may boot from any address of its machine: a boot from another one installs and reports by that one', async () => {
  const node = await pendingNode();
  const second = newMac();
  await update(node.id, [node.mac, second]);
  expect((await nodeOf(server, node.id)).mac_address).toBe(node.mac);
  const { script, token } = await boot(server, second);
  expect(script).toContain(`ingot.mac=${second}`);
  expect((await report(server, second, 'started', {}, token)).status).toBe(200);
  expect((await nodeOf(server, node.id)).state).toBe('installing');
  const taken = await call(server, 'POST', '/nodes', { mac_address: second });
  expect(taken).toMatchObject({ status: 409, body: { reason: 'MAC_TAKEN', machine_id: node.id } });
});

it('a machine that is registered while its address is discovered is the node', async () => {
  const mac = newMac();
  const machineId = `registered-${mac.replaceAll(':', '')}`;
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('BEGIN');
  await client.query(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     VALUES ($2, '{}', jsonb_build_object('provider', 'fake', 'mac_addresses', jsonb_build_array($1::text)), 'READY')`,
    [mac, machineId],
  );
  const booting = boot(server, mac);
  await until(async () => {
    // A background loop may wait for the same transaction, so this counts at least one waiter.
    const waiting = await server.sql(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length > 0;
  });
  await client.query('COMMIT');
  expect((await booting).script).toContain(`machine ${machineId} is discovered`);
});
