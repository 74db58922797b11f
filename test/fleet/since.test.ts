import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { get, newMachine, run } from '../api/fleet.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const LONG_AGO = '2020-01-01T00:00:00Z';

/** As if nothing had happened to it for years. */
async function settled(machineId: string): Promise<void> {
  await server.sql(
    `UPDATE machines SET effective_since = $2, service_since = $2, install_since = $2 WHERE machine_id = $1`,
    [machineId, LONG_AGO],
  );
}

async function moved(machineId: string): Promise<string[]> {
  const [row] = await server.sql<Record<string, Date>>(
    'SELECT effective_since, service_since, install_since FROM machines WHERE machine_id = $1',
    [machineId],
  );
  return Object.entries(row ?? {}).flatMap(([name, at]) => (at > new Date('2021-01-01') ? [name] : []));
}

describe('the time of a state', () => {
  const CHANGES = [
    [`service = 'active'`, ['service_since']],
    [`install = 'discovered'`, ['install_since']],
    [`phase = 'READY'`, ['effective_since']],
    [`active_operation_id = 'op-1'`, ['effective_since']],
    [`conditions = '{"NeedsIntervention": {"status": true}}'`, ['effective_since']],
    [
      `conditions = '{"RMA": {"status": true}}', phase = 'READY', service = 'offline', install = 'pending'`,
      ['effective_since', 'service_since', 'install_since'],
    ],
    [`conditions = '{"Reachable": {"status": true}}'`, []],
    [`labels = '{"a": "b"}', updated_at = now()`, []],
    [`presence = 'ready', pool = 'p'`, []],
  ] as const;

  test.each(CHANGES)('%s moves %j', async (change, expected) => {
    const machineId = await newMachine(server);
    await settled(machineId);
    await server.sql(`UPDATE machines SET ${change} WHERE machine_id = $1`, [machineId]);
    expect(await moved(machineId)).toEqual(expected);
    await settled(machineId);
    await server.sql(`UPDATE machines SET ${change} WHERE machine_id = $1`, [machineId]);
    expect(await moved(machineId)).toEqual([]);
  });

  test('stays while one flag takes the place of another', async () => {
    const machineId = await newMachine(server);
    await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'a' });
    await settled(machineId);
    await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RETIRED, reason: 'b' });
    expect(await moved(machineId)).toEqual([]);
    await server.admin.unflagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'a' });
    expect(await moved(machineId)).toEqual([]);
    await server.admin.unflagMachine({ machineId, flag: MachineFlag_Value.RETIRED, reason: 'b' });
    expect(await moved(machineId)).toEqual(['effective_since']);
  });

  test('is moved by operations, and shown for the layers that a machine has', async () => {
    const machineId = await newMachine(server);
    await settled(machineId);
    const before = Date.now() - 1000;
    await run(server, 'ENTER_MAINTENANCE', machineId);
    const { status } = await get(server, machineId);
    expect(Number(status?.effectiveSince?.seconds) * 1000).toBeGreaterThan(before - 1000);
    expect(status?.serviceSince).toBeUndefined();
    expect(status?.installSince).toBeUndefined();
    await server.sql(`UPDATE machines SET service = 'active' WHERE machine_id = $1`, [machineId]);
    expect((await get(server, machineId)).status?.serviceSince).toBeDefined();
  });

  test('is a filter and an order', async () => {
    const machineId = await newMachine(server);
    await settled(machineId);
    const fleet = server.client(FleetService, server.adminToken);
    const { total } = await fleet.countMachines({ filter: 'effective_since<2021-01-01T00:00:00Z' });
    expect(total).toBeGreaterThan(0);
    for await (const { machineIds } of fleet.indexMachines({
      orderBy: 'effective_since',
      filter: `effective_since<2021-01-01T00:00:00Z`,
    }))
      expect(machineIds).toContain(machineId);
    const { machines } = await server.machines.listMachines({
      filter: `machine_id=${machineId} AND service_since<2021-01-01T00:00:00Z`,
    });
    expect(machines).toEqual([]);
  });
});

test('machines from before are in their states since they were last written', async () => {
  const database = await cloneDatabase('template0');
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const folder = new URL('../../src/store/migrations/', import.meta.url);
  for (const name of readdirSync(folder).sort()) {
    if (name.startsWith('0006')) {
      await client.query(`INSERT INTO machines (machine_id, labels, spec, phase, updated_at)
        VALUES ('old', '{}', '{}', 'READY', '${LONG_AGO}')`);
    }
    await client.query(readFileSync(new URL(name, folder), 'utf8'));
  }
  const { rows } = await client.query('SELECT effective_since, service_since, install_since FROM machines');
  const at = new Date(LONG_AGO);
  expect(rows).toEqual([{ effective_since: at, service_since: at, install_since: at }]);
  await client.end();
  await database.drop();
});
