// @module-tag extended: nodes.test.ts has reports and what they change.
/** What operators may set on nodes, and what happens to it when the machine reports something else. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MachineService as MachineServiceV1 } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { readMigrations } from '../../src/store/schema/migration-files.ts';
import { cloneDatabase, openPool } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { call, createNode, newMac, nodeOf, prepareInstall, report, setState } from './rest.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ netboot: { auto_promote: ['labels.group=lab'] } });
  await prepareInstall(server);
});
afterAll(() => server?.stop());

describe('bodies', () => {
  it.each([
    ['PATCH', (id: string) => `/nodes/${id}`, {}],
    ['PATCH', (id: string) => `/nodes/${id}/state`, { state: 'pending' }],
    ['POST', (id: string) => `/nodes/${id}/tags`, { tag: 'a' }],
    ['POST', () => '/nodes', { mac_address: '52:54:00:77:00:01' }],
    ['POST', () => '/nodes/bulk/state', { node_ids: ['x'], state: 'pending' }],
    ['POST', () => '/workflows', { name: 'w' }],
  ])('%s refuses unknown fields, and names them', async (method, path, body) => {
    const { id } = await createNode(server);
    const answer = await call(server, method, path(id), { ...body, hostnam: 'x', 'owner\u001b': 1 });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toContain('hostnam');
    expect(await nodeOf(server, id)).toMatchObject({ state: 'discovered', tags: [] });
  });

  it('errors have a field each', async () => {
    const { id } = await createNode(server);
    const { body } = await call(server, 'PATCH', `/nodes/${id}`, { state: 'active', mac: 1, vendor: 7 });
    expect(body.errors.map(({ field }: { field: string }) => field).sort()).toEqual([
      'mac',
      'state',
      'vendor',
    ]);
  });
});

describe('PATCH /nodes/{id}', () => {
  it('takes workflow_id and group_id as other names, which must not disagree', async () => {
    const { id } = await createNode(server, { workflow_id: 'w1', group_id: 'g1' });
    expect(await nodeOf(server, id)).toMatchObject({
      workflow: 'w1',
      workflow_id: 'w1',
      group: 'g1',
      group_id: 'g1',
    });
    await call(server, 'PATCH', `/nodes/${id}`, { workflow_id: 'w2' });
    expect(await nodeOf(server, id)).toMatchObject({ workflow: 'w2', group: 'g1' });
    for (const name of ['workflow', 'group']) {
      const { status, body } = await call(server, 'PATCH', `/nodes/${id}`, {
        [name]: 'a',
        [`${name}_id`]: 'b',
      });
      expect(status).toBe(422);
      expect(body.detail).toContain(`${name}_id`);
    }
    await call(server, 'PATCH', `/nodes/${id}`, { workflow: 'w3', workflow_id: 'w3' });
    expect(await nodeOf(server, id)).toMatchObject({ workflow: 'w3' });
    await call(server, 'PATCH', `/nodes/${id}`, { workflow_id: null, group: null });
    expect(await nodeOf(server, id)).toMatchObject({ workflow: null, group: null });
  });

  it('edits facts; they stay until they are cleared, and a report that differs is noted once', async () => {
    const { id, mac } = await createNode(server, { vendor: 'Dell' });
    const facts = {
      vendor: 'HPE',
      serial_number: 'CZ1',
      system_uuid: '4c4c4544-0042-3510-8057-c7c04f4e4e31',
      arch: 'arm64',
      boot_mode: 'uefi',
    };
    expect((await call(server, 'PATCH', `/nodes/${id}`, facts)).body.data).toMatchObject(facts);
    const reported = { vendor: 'Dell Inc.', model: 'R750', serial_number: 'CZ1', arch: 'x86_64' };
    const { body } = await report(server, mac, null, reported);
    await report(server, mac, null, reported);
    expect(body.message).toContain('vendor (');
    expect(await nodeOf(server, id)).toMatchObject({ ...facts, model: 'R750' });
    const history = (await call(server, 'GET', `/nodes/${id}/history`)).body;
    expect(history.total).toBe(1);
    expect(history.data[0].metadata.adjusted).toEqual({
      vendor: 'an operator set "HPE", which is kept; the machine says "Dell Inc."',
      arch: 'an operator set "arm64", which is kept; the machine says "x86_64"',
    });
    await call(server, 'PATCH', `/nodes/${id}`, { vendor: null, arch: null });
    expect(await nodeOf(server, id)).toMatchObject({ vendor: null, arch: 'x86_64' });
    await report(server, mac, null, reported);
    expect(await nodeOf(server, id)).toMatchObject({ vendor: 'Dell Inc.', serial_number: 'CZ1' });
  });

  it('refuses wrong ones, and stores nothing of them', async () => {
    const { id } = await createNode(server);
    for (const wrong of [
      { vendor: 'x'.repeat(256) },
      { system_uuid: 7 },
      { serial_number: ['a'] },
      { group: 'a b' },
      { arch: 'riscv64' },
      { boot_mode: 'floppy' },
    ]) {
      const { status, body } = await call(server, 'PATCH', `/nodes/${id}`, { notes: 'x', ...wrong });
      expect(status).toBe(422);
      expect(body.detail).toContain(Object.keys(wrong)[0]);
    }
    expect(await nodeOf(server, id)).toMatchObject({ notes: null });
  });

  it('a group is the label of the machine, which promotes it and can be filtered by', async () => {
    const { id, mac } = await createNode(server);
    await call(server, 'PATCH', `/nodes/${id}`, { group: 'lab' });
    expect((await server.machines.getMachine({ machineId: id })).labels).toEqual({ group: 'lab' });
    expect((await call(server, 'GET', '/nodes?group=lab')).body.data).toMatchObject([{ id }]);
    expect((await call(server, 'GET', '/nodes?view=inventory&group=lab')).body.total).toBe(1);
    await setState(server, id, 'pending');
    await report(server, mac, 'started');
    await report(server, mac, 'complete');
    expect(await nodeOf(server, id)).toMatchObject({ state: 'active', group: 'lab' });
  });
});

describe('closed sets', () => {
  it('arch and boot_mode have defaults, whichever way a node came', async () => {
    const mac = newMac();
    const { id } = (await report(server, mac, null)).body.data;
    const defaults = { arch: 'x86_64', boot_mode: 'bios' };
    expect(await nodeOf(server, id)).toMatchObject(defaults);
    expect(await nodeOf(server, (await createNode(server)).id)).toMatchObject(defaults);
    for (const arch of ['x86_64', 'arm64', 'aarch64']) {
      for (const boot_mode of ['bios', 'uefi', 'pi']) {
        const made = await createNode(server, { arch, boot_mode });
        expect(await nodeOf(server, made.id)).toMatchObject({ arch, boot_mode });
      }
    }
  });

  it('what is in none is 422, and the answer names the set', async () => {
    const arch = await call(server, 'POST', '/nodes', { mac_address: newMac(), arch: 'sparc' });
    expect(arch).toMatchObject({
      status: 422,
      body: { detail: 'arch: must be one of x86_64, arm64, aarch64' },
    });
    const mode = await call(server, 'POST', '/nodes', { mac_address: newMac(), boot_mode: 'tape' });
    expect(mode).toMatchObject({ status: 422, body: { detail: 'boot_mode: must be one of bios, uefi, pi' } });
  });
});

describe('addresses that are no machine’s', () => {
  it.each(['00:00:00:00:00:00', 'FF-FF-FF-FF-FF-FF', '01:00:5e:00:00:fb', '33:33:00:00:00:01'])(
    '%s is refused wherever one comes in',
    async (mac) => {
      const before = (await call(server, 'GET', '/nodes')).body.total;
      expect((await call(server, 'POST', '/nodes', { mac_address: mac })).status).toBe(422);
      expect((await report(server, mac, 'started')).status).toBe(422);
      expect((await call(server, 'GET', `/boot?mac=${mac}`, undefined, null)).status).toBe(422);
      expect((await call(server, 'GET', `/nodes?mac=${mac}`)).status).toBe(422);
      const spec = { macAddresses: [mac] };
      const registering = { machine: { machineId: 'no-such-mac', spec } };
      const v1 = server.client(MachineServiceV1, server.adminToken);
      await expect(server.machines.registerMachine(registering)).rejects.toThrow(/mac_addresses\[0\]/);
      await expect(v1.registerMachine(registering)).rejects.toThrow(/mac_addresses\[0\]/);
      await server.machines.registerMachine({ machine: { machineId: 'plain' } });
      const updating = { machine: { machineId: 'plain', spec } };
      await expect(server.machines.updateMachine(updating)).rejects.toThrow(/mac_addresses\[0\]/);
      await expect(v1.updateMachine(updating)).rejects.toThrow(/mac_addresses\[0\]/);
      expect((await call(server, 'GET', '/nodes')).body.total).toBe(before);
    },
  );
});

describe('a machine that was stored with an address that is no machine’s', () => {
  it('takes every other change, and can be corrected', async () => {
    const [bad, good] = ['01:00:5e:00:00:fb', newMac()];
    const machineId = 'old-1';
    const update = (machine: Record<string, unknown>, ...paths: string[]) =>
      server.machines.updateMachine({ machine: { machineId, ...machine }, updateMask: { paths } });
    await server.machines.registerMachine({ machine: { machineId, spec: { macAddresses: [newMac()] } } });
    await server.sql(
      `UPDATE machines SET spec = jsonb_set(spec, '{mac_addresses}', $2) WHERE machine_id = $1`,
      [machineId, JSON.stringify([bad])],
    );
    await update({ labels: { rack: 'r1' } }, 'labels');
    await update({ spec: { serial: 'S1' } }, 'spec.serial');
    await update({ spec: { macAddresses: [bad.toUpperCase(), good] } }, 'spec.mac_addresses');
    await expect(
      update({ spec: { macAddresses: [bad, '33:33:00:00:00:01'] } }, 'spec.mac_addresses'),
    ).rejects.toThrow(/mac_addresses\[1\]: is a multicast/);
    await update({ spec: { macAddresses: [good] } }, 'spec.mac_addresses');
    await expect(update({ spec: { macAddresses: [bad] } }, 'spec.mac_addresses')).rejects.toThrow(
      /mac_addresses\[0\]: is a multicast/,
    );
    expect((await server.machines.getMachine({ machineId })).spec).toMatchObject({
      macAddresses: [good],
      serial: 'S1',
    });
  });
});

describe('tags', () => {
  it('have one case on every path, and are there once', async () => {
    const { id } = await createNode(server, { tags: ['GPU', 'gpu', 'Rack-1'] });
    expect((await nodeOf(server, id)).tags).toEqual(['gpu', 'rack-1']);
    await call(server, 'POST', `/nodes/${id}/tags`, { tag: 'GPU' });
    await call(server, 'POST', `/nodes/${id}/tags`, { tag: 'New' });
    expect((await nodeOf(server, id)).tags.sort()).toEqual(['gpu', 'new', 'rack-1']);
    expect((await call(server, 'GET', '/nodes?tag=Rack-1')).body.total).toBe(1);
    expect((await call(server, 'GET', '/nodes?view=inventory&tag=RACK-1')).body.total).toBe(1);
    await call(server, 'DELETE', `/nodes/${id}/tags/RACK-1`);
    await call(server, 'PATCH', `/nodes/${id}`, { tags: ['One', 'ONE'] });
    expect((await nodeOf(server, id)).tags).toEqual(['one']);
  });

  it('that were stored in several cases are one after the migration, and facts keep their meaning', async () => {
    const database = await cloneDatabase();
    const pool = openPool(database.url);
    try {
      const file = readMigrations().find(({ name }) => name.startsWith('0016'));
      await pool.query(`ALTER TABLE nodes DROP COLUMN edited_facts`);
      await pool.query(`INSERT INTO machines (machine_id, labels, spec, phase) VALUES
        ('m1', '{}', '{"mac_addresses": []}', 'READY'), ('m2', '{}', '{"mac_addresses": []}', 'READY')`);
      await pool.query(`INSERT INTO nodes (machine_id, mac_address, tags, arch, boot_mode) VALUES
        ('m1', '52:54:00:00:00:01', '{Zoo,GPU,gpu,a}', 'amd64', 'UEFI'), ('m2', '52:54:00:00:00:02', '{b,a}', 'AARCH64', '')`);
      await pool.query(file?.text ?? '');
      const { rows } = await pool.query(
        'SELECT tags, arch, boot_mode, edited_facts FROM nodes ORDER BY machine_id',
      );
      expect(rows).toEqual([
        { tags: ['zoo', 'gpu', 'a'], arch: 'x86_64', boot_mode: 'uefi', edited_facts: [] },
        { tags: ['b', 'a'], arch: 'aarch64', boot_mode: 'bios', edited_facts: [] },
      ]);
    } finally {
      await pool.end();
      await database.drop();
    }
  });
});
