import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installLifecycle } from '../../src/domain/install/install-state.ts';
import { nextStates, statesOf } from '../../src/domain/lifecycle/lifecycle.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { call, createNode, historyOf, newMac, nodeOf, prepareInstall, report, setState } from './rest.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await prepareInstall(server);
});
afterAll(() => server?.stop());

describe('POST /nodes', () => {
  it('registers a node that is a machine, with its address in the spec', async () => {
    const { status, body } = await call(server, 'POST', '/nodes', {
      mac_address: 'AA-BB-CC-00-11-22',
      hostname: 'rack1-node1',
      vendor: 'Dell',
      model: 'R740',
      serial_number: 'S1',
      system_uuid: '4c4c4544-0042-3510-8057-c7c04f4e4e31',
      arch: 'x86_64',
      boot_mode: 'uefi',
      workflow: 'install',
      tags: ['gpu', 'gpu', 'r1'],
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      success: true,
      message: expect.any(String),
      data: {
        mac_address: 'aa:bb:cc:00:11:22',
        hostname: 'rack1-node1',
        state: 'discovered',
        tags: ['gpu', 'r1'],
        install_attempts: 0,
        last_install_error: null,
        state_changed_at: expect.any(String),
      },
    });
    const machine = await server.machines.getMachine({ machineId: body.data.id });
    expect(machine.spec?.macAddresses).toEqual(['aa:bb:cc:00:11:22']);
    expect(machine.status).toMatchObject({ install: 'discovered' });
    expect((await server.machines.listMachines({ filter: 'install=discovered' })).machines).toHaveLength(1);
  });

  it('a duplicate address is 409 in either form, a bad one 422', async () => {
    const { mac } = await createNode(server);
    const again = await call(server, 'POST', '/nodes', {
      mac_address: mac.toUpperCase().replaceAll(':', '-'),
    });
    expect(again).toMatchObject({ status: 409, body: { detail: `Node with MAC ${mac} already exists` } });
    for (const bad of [
      '',
      'zz:zz:zz:zz:zz:zz',
      '00:11:22:33:44',
      '00:11-22:33:44:55',
      7,
      null,
      "'; DROP TABLE",
    ]) {
      expect((await call(server, 'POST', '/nodes', { mac_address: bad })).status).toBe(422);
    }
    expect((await call(server, 'POST', '/nodes', {})).body.detail).toContain('mac_address');
  });

  it('a machine that names the address becomes the node', async () => {
    const mac = newMac();
    await server.machines.registerMachine({
      machine: { machineId: 'known-1', spec: { macAddresses: [mac] } },
    });
    const { body } = await call(server, 'POST', '/nodes', { mac_address: mac });
    expect(body.data.id).toBe('known-1');
  });

  it('nothing of a node with a wrong field is stored', async () => {
    const mac = newMac();
    for (const wrong of [
      { hostname: 'a b' },
      { tags: ['no spaces allowed'] },
      { boot_mode: 'floppy' },
      { vendor: 'a\u0001b' },
      { workflow: '../x' },
    ]) {
      const { status, body } = await call(server, 'POST', '/nodes', { mac_address: mac, ...wrong });
      expect(status).toBe(422);
      expect(body.detail).toContain(Object.keys(wrong)[0]);
    }
    expect((await call(server, 'GET', `/nodes?mac=${mac}`)).body.total).toBe(0);
  });
});

describe('reading and describing', () => {
  it('lists with filters, pages and a total', async () => {
    const made = [];
    for (const n of [1, 2, 3]) {
      made.push(await createNode(server, { tags: ['listed'], hostname: `listed-${n}`, workflow: 'w-list' }));
    }
    const list = async (query: string) => (await call(server, 'GET', `/nodes?${query}`)).body;
    expect(await list('tag=listed')).toMatchObject({ success: true, total: 3 });
    const page = await list('tag=listed&limit=2&offset=1');
    expect(page.total).toBe(3);
    expect(page.data.map((node: { hostname: string }) => node.hostname)).toEqual(['listed-2', 'listed-1']);
    expect((await list('workflow=w-list')).total).toBe(3);
    expect((await list('q=LISTED-3')).data[0].hostname).toBe('listed-3');
    expect((await list(`mac=${made[0]?.mac.toUpperCase()}`)).data[0].id).toBe(made[0]?.id);
    expect((await list('tag=listed&state=pending')).total).toBe(0);
    expect((await call(server, 'GET', '/nodes?state=nonsense')).status).toBe(422);
    expect((await call(server, 'GET', '/nodes?limit=0')).status).toBe(422);
  });

  it('patches what may be patched, adds and removes tags', async () => {
    const { id } = await createNode(server);
    await call(server, 'PATCH', `/nodes/${id}`, {
      hostname: 'new-name',
      workflow: 'w2',
      notes: 'two\nlines',
    });
    await call(server, 'POST', `/nodes/${id}/tags`, { tag: 'a' });
    await call(server, 'POST', `/nodes/${id}/tags`, { tag: 'b' });
    await call(server, 'POST', `/nodes/${id}/tags`, { tag: 'a' });
    await call(server, 'DELETE', `/nodes/${id}/tags/b`);
    expect(await nodeOf(server, id)).toMatchObject({
      hostname: 'new-name',
      workflow: 'w2',
      notes: 'two\nlines',
      tags: ['a'],
      state: 'discovered',
    });
    expect((await call(server, 'PATCH', '/nodes/no-such', { notes: '' })).body).toMatchObject({
      detail: 'Node not found',
    });
  });

  it('needs a token: 401 without, 403 with too small a role', async () => {
    const { secret } = await server.admin.createToken({ name: 'reader', role: 'viewer' });
    const { id } = await createNode(server);
    expect((await call(server, 'GET', '/nodes', undefined, null)).status).toBe(401);
    expect((await call(server, 'GET', '/nodes', undefined, secret)).status).toBe(200);
    expect((await call(server, 'PATCH', `/nodes/${id}/state`, { state: 'pending' }, secret)).status).toBe(
      403,
    );
    expect((await call(server, 'DELETE', `/nodes/${id}`, undefined, secret)).status).toBe(403);
  });
});

describe('the state machine', () => {
  /** A way for an admin from discovered to each state. */
  const PATHS = {
    discovered: [],
    pending: ['pending'],
    installing: ['pending', 'installing'],
    install_failed: ['pending', 'installing', 'install_failed'],
    installed: ['pending', 'installing', 'installed'],
    active: ['pending', 'installing', 'installed', 'active'],
    reprovision: ['pending', 'installing', 'installed', 'active', 'reprovision'],
    deprovisioning: ['pending', 'installing', 'installed', 'active', 'deprovisioning'],
    migrating: ['pending', 'installing', 'installed', 'active', 'migrating'],
    retired: ['retired'],
  } as const;

  it.each(statesOf(installLifecycle))(
    'every transition from %s, and no other',
    { tags: ['extended'] },
    async (from) => {
      const allowed = nextStates(installLifecycle, from);
      const nodeIn = async () => {
        const { id } = await createNode(server);
        for (const state of PATHS[from]) expect((await setState(server, id, state)).status).toBe(200);
        return id;
      };
      const list = allowed.map((state) => `'${state}'`).join(', ');
      // What is refused leaves the node where it is, for the next try.
      const staying = await nodeIn();
      for (const to of [...statesOf(installLifecycle), 'nonsense']) {
        if ((allowed as string[]).includes(to)) continue;
        expect(await setState(server, staying, to, { force: true })).toMatchObject({
          status: 400,
          body: {
            detail: `Invalid state transition from '${from}' to '${to}'. Valid transitions: [${list}]`,
          },
        });
      }
      expect((await nodeOf(server, staying)).state).toBe(from);
      expect(await historyOf(server, staying)).toHaveLength(PATHS[from].length);
      for (const to of allowed)
        expect(await setState(server, await nodeIn(), to, { force: true })).toMatchObject({
          status: 200,
          body: { success: true, data: { state: to } },
        });
    },
  );

  it('says who, why and when, newest first, and is in the server’s log', async () => {
    const { id } = await createNode(server);
    await setState(server, id, 'pending', { comment: 'rack is cabled' });
    const { body } = await call(server, 'GET', `/nodes/${id}/history?limit=50&offset=0`);
    expect(body).toEqual({
      data: [
        {
          id: expect.any(String),
          from_state: 'discovered',
          to_state: 'pending',
          triggered_by: 'admin',
          user_id: expect.any(String),
          comment: 'rack is cabled',
          metadata: null,
          created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ],
      total: 1,
    });
    expect(server.logged.join('')).toMatch(
      new RegExp(`"node_id":"${id}","from_state":"discovered","to_state":"pending"`),
    );
  });

  it('retiring is final, sets Retired, and blocks operations', async () => {
    const { id } = await createNode(server);
    const { body } = await call(server, 'DELETE', `/nodes/${id}`);
    expect(body.data.state).toBe('retired');
    const { status } = await server.machines.getMachine({ machineId: id });
    expect(status?.conditions).toMatchObject([{ type: 'Retired', status: true }]);
    expect((await call(server, 'DELETE', `/nodes/${id}`)).status).toBe(200);
    expect((await setState(server, id, 'pending', { force: true })).status).toBe(400);
  });

  it('in bulk: each node has its own result', async () => {
    const first = await createNode(server);
    const second = await createNode(server);
    await setState(server, second.id, 'retired');
    const { status, body } = await call(server, 'POST', '/nodes/bulk/state', {
      node_ids: [first.id, second.id, 'no-such', first.id],
      state: 'pending',
      comment: 'all of them',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: false,
      total: 3,
      data: [
        { id: first.id, success: true, state: 'pending' },
        { id: second.id, success: false, detail: expect.stringContaining('Invalid state transition') },
        { id: 'no-such', success: false, detail: 'Node not found' },
      ],
    });
  });
});

describe('POST /report', () => {
  it('the report table: started, progress, complete', async () => {
    const { id, mac } = await createNode(server);
    await setState(server, id, 'pending');
    await report(server, mac, 'started');
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installing', install_progress: 0 });
    await report(server, mac, 'progress', { installation_progress: 40 });
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installing', install_progress: 40 });
    await report(server, mac, 'complete');
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installed', install_attempts: 0 });
    await setState(server, id, 'active', { comment: 'verified' });
    expect(await historyOf(server, id)).toEqual([
      'discovered>pending admin',
      'pending>installing node_report',
      'installing>installed node_report',
      'installed>active admin',
    ]);
  });

  it('three failures, install_failed, another workflow, a forced reset', async () => {
    const { id, mac } = await createNode(server);
    await setState(server, id, 'pending');
    await report(server, mac, 'started');
    for (const attempt of [1, 2]) {
      await report(server, mac, 'failed', { installation_error: 'Disk not found' });
      expect(await nodeOf(server, id)).toMatchObject({
        state: 'installing',
        install_attempts: attempt,
        last_install_error: 'Disk not found',
      });
    }
    await report(server, mac, 'failed', { installation_error: 'Disk not found' });
    expect(await nodeOf(server, id)).toMatchObject({ state: 'install_failed', install_attempts: 3 });
    const { body } = await call(server, 'GET', `/nodes/${id}/history`);
    expect(body.data[0]).toMatchObject({
      from_state: 'installing',
      to_state: 'install_failed',
      triggered_by: 'node_report',
      user_id: null,
      comment: null,
      metadata: { error: 'Disk not found', attempt: 3 },
    });
    expect(body.data.slice(1, 3).map((entry: { to_state: string }) => entry.to_state)).toEqual([
      'installing',
      'installing',
    ]);
    const refused = await setState(server, id, 'pending');
    expect(refused).toMatchObject({ status: 400, body: { detail: expect.stringContaining('force') } });
    await call(server, 'POST', '/workflows', { name: 'another', image: { name: 'any' } });
    await call(server, 'PATCH', `/nodes/${id}`, { workflow: 'another' });
    expect((await setState(server, id, 'pending', { force: true })).status).toBe(200);
    expect(await nodeOf(server, id)).toMatchObject({
      state: 'pending',
      install_attempts: 0,
      workflow: 'another',
    });
  });

  it.each(['discovered', 'pending', 'installed', 'active', 'retired'])(
    'what does not fit %s is recorded, answered 200, and changes nothing',
    { tags: ['extended'] },
    async (state) => {
      const { id, mac } = await createNode(server);
      const path = {
        discovered: [],
        pending: ['pending'],
        installed: ['pending', 'installing', 'installed'],
        active: ['pending', 'installing', 'installed', 'active'],
        retired: ['retired'],
      }[state];
      for (const step of path ?? []) await setState(server, id, step);
      const before = (await historyOf(server, id)).length;
      for (const status of ['progress', 'complete', 'failed', ...(state === 'pending' ? [] : ['started'])]) {
        expect(await report(server, mac, status)).toMatchObject({ status: 200, body: { data: { state } } });
        await report(server, mac, status);
      }
      expect((await nodeOf(server, id)).state).toBe(state);
      expect((await historyOf(server, id)).length).toBeGreaterThan(before);
      expect((await historyOf(server, id)).length).toBeLessThanOrEqual(before + 4);
    },
  );

  it('an unknown address is discovered, and facts are learned; a name that was given stays', async () => {
    const mac = newMac();
    const { body } = await report(server, mac, null, {
      hostname: 'from-dhcp',
      vendor: 'HPE',
      ip_address: '10.0.0.7',
    });
    expect(body.data).toEqual({ id: expect.any(String), mac_address: mac, state: 'discovered' });
    await call(server, 'PATCH', `/nodes/${body.data.id}`, { hostname: 'chosen' });
    await report(server, mac, null, { hostname: 'other', model: 'DL380' });
    expect(await nodeOf(server, body.data.id)).toMatchObject({
      hostname: 'chosen',
      vendor: 'HPE',
      model: 'DL380',
      ip_address: '10.0.0.7',
      state: 'discovered',
    });
  });

  it('wrong reports are refused with what is wrong', async () => {
    const { mac } = await createNode(server);
    for (const wrong of [{ installation_status: 'exploded' }, { mac_address: 'nope' }]) {
      const { status, body } = await call(server, 'POST', '/report', { mac_address: mac, ...wrong }, null);
      expect(status).toBe(422);
      expect(body.detail).toContain(Object.keys(wrong)[0]);
    }
  });
});

describe('the configuration of groups', () => {
  it('promotes machines that match, and finds installations that have stalled', async () => {
    const grouped = await startTestServer({
      netboot: { auto_promote: ['labels.env=lab'], stalled_after_seconds: 1 },
    });
    await prepareInstall(grouped);
    try {
      const mac = newMac();
      await grouped.machines.registerMachine({
        machine: { machineId: 'lab-1', labels: { env: 'lab' }, spec: { macAddresses: [mac] } },
      });
      await call(grouped, 'POST', '/nodes', { mac_address: mac });
      await setState(grouped, 'lab-1', 'pending');
      await report(grouped, mac, 'started');
      await report(grouped, mac, 'complete');
      expect((await nodeOf(grouped, 'lab-1')).state).toBe('active');
      expect((await historyOf(grouped, 'lab-1')).slice(-2)).toEqual([
        'installing>installed node_report',
        'installed>active system',
      ]);

      const slow = await createNode(grouped);
      await setState(grouped, slow.id, 'pending');
      await report(grouped, slow.mac, 'started');
      const failed = await until(
        () => nodeOf(grouped, slow.id),
        ({ state }) => state === 'install_failed',
      );
      expect(failed).toMatchObject({
        install_attempts: 3,
        last_install_error: 'no report for 1 seconds',
      });
      expect(await historyOf(grouped, slow.id)).toContain('installing>install_failed system');
    } finally {
      await grouped.stop();
    }
  });
});
