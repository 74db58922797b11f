// @module-tag extended: retired.test.ts and api/operator-actions.test.ts have the states.
/** Migrations: an identity that moves to replacement hardware, with its history. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, registration } from '../agents/calls.ts';
import { conditionOf, ended, fresh, get, phaseOf, run } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { boot, call, createNode, historyOf, newMac, nodeOf, report, type TestNode } from './rest.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

async function maintainedNode(serial = 'OLD-1'): Promise<TestNode> {
  const node = await createNode(server, { serial_number: serial, hostname: 'web-7' });
  await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [node.id]);
  await run(server, 'ENTER_MAINTENANCE', node.id);
  return node;
}

const migrate = (machineId: string, macs: string[], more: Record<string, string> = {}) =>
  server.admin.migrateMachine({ machineId, requestId: fresh('migrate'), macAddresses: macs, ...more });

const untilState = (id: string, wanted: string) =>
  until(
    async () => (await nodeOf(server, id)).state,
    (state) => state === wanted,
  );

const lastOf = async (id: string) => (await call(server, 'GET', `/nodes/${id}/history`)).body.data;
const idOf = async (mac: string) => (await call(server, 'GET', `/nodes?mac=${mac}`)).body.data[0]?.id;

describe('a migration', () => {
  it('waits for the replacement, checks its serial number, and keeps the history', async () => {
    const { id, mac: oldMac } = await maintainedNode();
    const mac = newMac();
    const started = await migrate(id, [mac.toUpperCase().replaceAll(':', '-')], { serialNumber: 'NEW-1' });
    expect(started.params).toEqual({ mac_addresses: mac, serial_number: 'NEW-1' });
    await untilState(id, 'migrating');
    expect(await nodeOf(server, id)).toMatchObject({
      mac_address: mac,
      serial_number: null,
      hostname: 'web-7',
    });
    // A boot shows that it is there, and not yet which one it is.
    await boot(server, mac);
    expect(await idOf(mac)).toBe(id);
    await until(
      () => server.operations.getOperation({ operationId: started.operationId }),
      ({ waitingFor }) => waitingFor.includes('waiting for it to report its serial number'),
    );
    await report(server, mac, null, { serial_number: 'new-1', vendor: 'Acme' });
    expect(phaseOf(await ended(server, started))).toBe('SUCCEEDED');
    expect(await nodeOf(server, id)).toMatchObject({
      state: 'active',
      serial_number: 'new-1',
      vendor: 'Acme',
    });
    expect((await get(server, id)).spec?.macAddresses).toEqual([mac]);
    expect(await historyOf(server, id)).toEqual(['active>migrating system', 'migrating>active system']);
    const [finished, moved] = await lastOf(id);
    expect(moved.metadata).toMatchObject({
      old: { mac_addresses: [oldMac], serial_number: 'OLD-1' },
      new: { mac_addresses: [mac] },
    });
    expect(finished.metadata).toMatchObject({ hardware: { mac_addresses: [mac], serial_number: 'new-1' } });
    // The old hardware is another machine from now on.
    await boot(server, oldMac);
    expect(await idOf(oldMac)).not.toBe(id);
  }, 30_000);

  it('takes in the discovered node that is the replacement, and both histories say so', async () => {
    const { id } = await maintainedNode();
    const mac = newMac();
    await boot(server, mac);
    await report(server, mac, null, { serial_number: 'NEW-2', model: 'R650' });
    const found = await idOf(mac);
    expect(phaseOf(await ended(server, await migrate(id, [mac], { serialNumber: 'NEW-2' })))).toBe(
      'SUCCEEDED',
    );
    expect(await idOf(mac)).toBe(id);
    expect(await nodeOf(server, id)).toMatchObject({
      serial_number: 'NEW-2',
      model: 'R650',
      state: 'active',
    });
    expect((await lastOf(id))[1].metadata).toMatchObject({ taken_in: [found] });
    expect((await lastOf(found))[0]).toMatchObject({
      from_state: 'discovered',
      to_state: 'retired',
      metadata: { taken_in_by: id },
    });
    expect((await get(server, found)).spec?.macAddresses).toEqual([]);
  });

  it('asks the firmware of what boots which hardware it is', async () => {
    const { id } = await maintainedNode();
    const mac = newMac();
    const started = await migrate(id, [mac], { serialNumber: 'SMBIOS-1' });
    await untilState(id, 'migrating');
    const { script } = await boot(server, mac);
    const asked = /chain \S+(\/boot\?mac=\S+) \|\|/.exec(script)?.[1] ?? '';
    expect(asked).toMatch(/&serial=\$\{serial:uristring\}&uuid=\$\{uuid\}&asked=1$/);
    const answered = asked.replace(/\$\{serial:uristring\}/, 'SMBIOS-1').replace(/\$\{uuid\}/, 'u-1');
    const { body } = await call(server, 'GET', answered, undefined, null);
    expect(body).toContain('booting from disk');
    expect(phaseOf(await ended(server, started))).toBe('SUCCEEDED');
    expect(await nodeOf(server, id)).toMatchObject({ serial_number: 'SMBIOS-1', system_uuid: 'u-1' });
  });

  it('refuses the address of another machine, and names it', async () => {
    const { id } = await maintainedNode();
    const other = await maintainedNode('OTHER-1');
    await expect(migrate(id, [other.mac])).rejects.toThrow(new RegExp(`is that of machine ${other.id}`));
    await expect(migrate(id, [])).rejects.toThrow(/mac_addresses is required/);
    await expect(migrate(id, ['ff:ff:ff:ff:ff:ff'])).rejects.toThrow(/mac_addresses\[0\]/);
    await expect(migrate(id, [newMac()], { bmcEndpoint: 'http://a:b@c' })).rejects.toThrow(/bmc_endpoint/);
    expect((await nodeOf(server, id)).state).toBe('active');
  });

  it('refuses what nothing distinguishes from the hardware that it replaces', async () => {
    const { id, mac } = await maintainedNode();
    await expect(migrate(id, [mac.toUpperCase()])).rejects.toThrow(
      /mac_addresses: the machine has these already/,
    );
    expect(await nodeOf(server, id)).toMatchObject({ state: 'active', serial_number: 'OLD-1' });
    // Its network card was moved into another machine.
    const started = await migrate(id, [mac], { serialNumber: 'NEW-2' });
    await untilState(id, 'migrating');
    await report(server, mac, null, { serial_number: 'NEW-2' });
    expect(phaseOf(await ended(server, started))).toBe('SUCCEEDED');
  }, 30_000);

  it('stops at hardware that is another, and a cancel goes back to the old one', async () => {
    const { id, mac: oldMac } = await maintainedNode();
    const mac = newMac();
    const started = await migrate(id, [mac], { serialNumber: 'RIGHT' });
    await untilState(id, 'migrating');
    await report(server, mac, null, { serial_number: 'WRONG' });
    const stopped = await ended(server, started);
    expect(stopped.error).toMatchObject({
      code: 'HARDWARE_MISMATCH',
      message: 'the serial number RIGHT was asked for, and the machine reports WRONG',
    });
    await server.admin.actOnOperation({ operationId: started.operationId, action: 5, reason: 'wrong box' });
    await untilState(id, 'active');
    expect(await nodeOf(server, id)).toMatchObject({ mac_address: oldMac, serial_number: 'OLD-1' });
    expect((await get(server, id)).spec?.macAddresses).toEqual([oldMac]);
    expect(await historyOf(server, id)).toEqual(['active>migrating system', 'migrating>active system']);
  }, 30_000);

  it('forgets the agent of the old hardware when it is finished, and not before', async () => {
    const { id } = await maintainedNode();
    await server.admin.createPool({ name: 'migrated' }).catch(() => {});
    const { token } = await server.admin.createMachine({ machineId: id, pool: 'migrated' });
    const agent = { machineId: id, token };
    const register = () => post(server, 'register', token, registration(agent, { pool_name: 'migrated' }));
    const mac = newMac();
    const started = await migrate(id, [mac]);
    await untilState(id, 'migrating');
    expect((await register()).status).toBe(200);
    await boot(server, mac);
    expect(phaseOf(await ended(server, started))).toBe('SUCCEEDED');
    expect([401, 403]).toContain((await register()).status);
  }, 30_000);

  it('needs maintenance, and a node that is active', async () => {
    const { id } = await maintainedNode();
    await server.sql(`UPDATE machines SET install = 'installed' WHERE machine_id = $1`, [id]);
    await expect(migrate(id, [newMac()])).rejects.toThrow(/needs install state active or migrating/);
    await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [id]);
    await run(server, 'EXIT_MAINTENANCE', id);
    await expect(migrate(id, [newMac()])).rejects.toThrow(/MIGRATE needs MAINTENANCE/);
    await expect(migrate(id, [newMac()], { imageRef: 'x' })).rejects.toThrow(/MAINTENANCE/);
    expect(conditionOf(await get(server, id), 'NeedsIntervention')?.status ?? false).toBe(false);
  });
});
