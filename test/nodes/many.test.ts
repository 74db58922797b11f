// @module-tag extended: nodes.test.ts has each node; this has many at once.
/** Many nodes at once: figures, those that are stuck, bulk changes, and rules that approve by themselves. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { putInstaller, startTestServer, type TestServer } from '../parts/server.ts';
import {
  boot,
  call,
  createNode,
  historyOf,
  newMac,
  nodeOf,
  prepareInstall,
  report,
  setState,
} from './rest.ts';

const RULE = { macPrefixes: [], vendors: [], serialNumbers: [], profile: '' };

let server: TestServer;
let viewer: string;
beforeAll(async () => {
  server = await startTestServer({
    netboot: {
      stalled_after_seconds: 3600,
      approve: [
        { ...RULE, name: 'racks', macPrefixes: ['52:54:aa'], profile: 'from-rule' },
        { ...RULE, name: 'dells', vendors: ['Dell Inc.'], serialNumbers: ['S1', 'S2'] },
        { ...RULE, name: 'lost', macPrefixes: ['52:54:bb'], profile: 'nowhere' },
      ],
    },
  });
  ({ secret: viewer } = await server.admin.createToken({ name: 'v', role: 'viewer' }));
  await prepareInstall(server);
  await call(server, 'POST', '/workflows', { name: 'from-rule', image: { name: 'any' } });
});
afterAll(() => server?.stop());

const stats = async () => (await call(server, 'GET', '/nodes/stats', undefined, viewer)).body;

describe('figures', () => {
  it('count by state, with all states, and follow every change', async () => {
    const before = (await stats()).data;
    expect(Object.keys(before.by_state)).toHaveLength(10);
    const { id, mac } = await createNode(server);
    await createNode(server);
    expect((await stats()).data).toMatchObject({
      total: before.total + 2,
      discovered_last_hour: before.discovered_last_hour + 2,
      by_state: { discovered: before.by_state.discovered + 2 },
    });
    await setState(server, id, 'pending');
    await report(server, mac, 'started');
    expect(await stats()).toMatchObject({
      success: true,
      data: { installing_count: before.installing_count + 1, stalled_count: 0 },
    });
    await server.sql(`UPDATE nodes SET created_at = now() - interval '2 hours' WHERE machine_id <> $1`, [id]);
    expect((await stats()).data.discovered_last_hour).toBe(0);
    expect((await call(server, 'GET', '/nodes/stats', undefined, null)).status).toBe(401);
  });

  it('stalled: being installed and not seen for too long, the longest first', async () => {
    const stuck = await createNode(server);
    const longer = await createNode(server);
    const talking = await createNode(server);
    for (const node of [stuck, longer, talking]) {
      await setState(server, node.id, 'pending');
      await report(server, node.mac, 'started');
    }
    const age = (id: string, hours: number) =>
      server.sql(
        `UPDATE nodes SET state_changed_at = now() - $2 * interval '1 hour',
           last_seen_at = now() - $2 * interval '1 hour' WHERE machine_id = $1`,
        [id, hours],
      );
    await age(stuck.id, 2);
    await age(longer.id, 5);
    await age(talking.id, 5);
    await report(server, talking.mac, 'progress', { installation_progress: 3 });
    const { body } = await call(server, 'GET', '/nodes/stalled', undefined, viewer);
    expect(body).toMatchObject({ success: true, total: 2 });
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([longer.id, stuck.id]);
    expect(body.data[0]).toMatchObject({ state: 'installing', mac_address: longer.mac });
    expect((await call(server, 'GET', '/nodes/stalled?limit=1&offset=1')).body.data).toHaveLength(1);
    expect((await stats()).data.stalled_count).toBe(2);
    await call(server, 'DELETE', `/nodes/${stuck.id}`);
    expect((await stats()).data.stalled_count).toBe(1);
  });
});

describe('bulk', () => {
  const bulk = (what: string, body: Record<string, unknown>, token?: string) =>
    call(server, 'POST', `/nodes/bulk/${what}`, body, token);

  it('tags are added and removed, with a result for each', async () => {
    const first = await createNode(server, { tags: ['old', 'kept'] });
    const second = await createNode(server);
    const answer = await bulk('tags', {
      node_ids: [first.id, 'nobody', second.id, first.id],
      add: ['GPU', 'gpu'],
      remove: ['OLD'],
    });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        success: false,
        total: 3,
        message: '2 of 3 nodes are tagged',
        data: [
          { id: first.id, success: true, tags: ['kept', 'gpu'] },
          { id: 'nobody', success: false, detail: 'Node not found', reason: 'NODE_NOT_FOUND' },
          { id: second.id, success: true, tags: ['gpu'] },
        ],
      },
    });
    expect((await call(server, 'GET', '/nodes?tag=gpu')).body.total).toBe(2);
    for (const wrong of [{}, { add: [] }, { add: ['a'], remove: ['A'] }, { add: ['a b'] }, { tag: 'a' }])
      expect((await bulk('tags', { node_ids: [first.id], ...wrong })).status).toBe(422);
    const full = Array.from({ length: 63 }, (_, n) => `t${n}`);
    expect((await bulk('tags', { node_ids: [first.id], add: full })).body.data[0]).toMatchObject({
      success: false,
      detail: expect.stringContaining('at most 64'),
    });
    expect((await nodeOf(server, first.id)).tags).toEqual(['kept', 'gpu']);
  });

  it('workflow and group', async () => {
    const ids = [(await createNode(server)).id, (await createNode(server)).id];
    await bulk('workflow', { node_ids: ids, workflow_id: 'from-rule' });
    await bulk('group', { node_ids: ids, group: 'bulk' });
    expect((await call(server, 'GET', '/nodes?group=bulk&workflow=from-rule')).body.total).toBe(2);
    await bulk('workflow', { node_ids: ids, workflow: null });
    expect((await call(server, 'GET', '/nodes?group=bulk&workflow=from-rule')).body.total).toBe(0);
    for (const what of ['workflow', 'group']) {
      expect((await bulk(what, { node_ids: ids })).status).toBe(422);
      expect((await bulk(what, { node_ids: [], [what]: 'x' })).status).toBe(422);
    }
  });

  it('approve assigns the workflow and moves, or does neither', async () => {
    const first = await createNode(server);
    const second = await createNode(server, { workflow: 'own' });
    const retired = await createNode(server);
    await call(server, 'DELETE', `/nodes/${retired.id}`);
    const node_ids = [first.id, second.id, retired.id];
    const refused = await bulk('approve', { node_ids, workflow: 'unheard-of' });
    expect(refused.body).toMatchObject({ success: false, message: '0 of 3 nodes are approved' });
    expect(refused.body.data[0]).toMatchObject({ success: false, reason: 'WORKFLOW_NOT_FOUND' });
    expect(await nodeOf(server, second.id)).toMatchObject({ state: 'discovered', workflow: 'own' });
    const { body } = await bulk('approve', { node_ids, workflow: 'from-rule', comment: 'cabled' });
    expect(body.data).toMatchObject([
      { id: first.id, success: true, state: 'pending', workflow: 'from-rule' },
      { id: second.id, success: true, state: 'pending', workflow: 'from-rule' },
      { id: retired.id, success: false, reason: 'ILLEGAL_TRANSITION' },
    ]);
    const history = (await call(server, 'GET', `/nodes/${first.id}/history`)).body.data;
    expect(history).toMatchObject([{ to_state: 'pending', comment: 'cabled', triggered_by: 'admin' }]);
  });

  it.each(['tags', 'workflow', 'group', 'approve', 'state'])('%s needs an operator', async (what) => {
    expect((await bulk(what, { node_ids: ['x'] }, viewer)).status).toBe(403);
  });
});

describe('rules that approve', () => {
  const macIn = (prefix: string) => `${prefix}${newMac().slice(8)}`;

  it('by the address: the boot that discovers a machine installs it, and the history names the rule', async () => {
    const mac = macIn('52:54:aa');
    const { token } = await boot(server, mac);
    expect(token).not.toBeNull();
    const [node] = (await call(server, 'GET', `/nodes?mac=${mac}`)).body.data;
    expect(node).toMatchObject({ state: 'pending', workflow: 'from-rule' });
    const { data } = (await call(server, 'GET', `/nodes/${node.id}/history`)).body;
    expect(data).toMatchObject([
      {
        from_state: 'discovered',
        to_state: 'pending',
        triggered_by: 'system',
        user_id: null,
        comment: 'approved by the rule racks',
        metadata: { rule: 'racks' },
      },
    ]);
  });

  it('by vendor and serial number, when the machine first says them', async () => {
    const mac = newMac();
    const first = await report(server, mac, null, { vendor: 'Dell Inc.' });
    expect(first.body.data.state).toBe('discovered');
    expect((await report(server, mac, null, { serial_number: 's2' })).body.data.state).toBe('pending');
    expect(await historyOf(server, first.body.data.id)).toEqual(['discovered>pending system']);
    const stranger = await report(server, newMac(), null, { vendor: 'HPE', serial_number: 'S1' });
    expect(stranger.body.data.state).toBe('discovered');
  });

  it('a workflow that a person gave stays', async () => {
    const mac = macIn('52:54:aa');
    await call(server, 'POST', '/workflows', { name: 'chosen', image: { name: 'any' } });
    const { body } = await call(server, 'POST', '/nodes', { mac_address: mac, workflow: 'chosen' });
    expect(body.data.state).toBe('discovered');
    await boot(server, mac);
    expect(await nodeOf(server, body.data.id)).toMatchObject({ state: 'pending', workflow: 'chosen' });
  });

  it('one that can’t be carried out leaves the node with the reason, once, until it can', async () => {
    const mac = macIn('52:54:bb');
    for (let n = 0; n < 3; n += 1) expect((await boot(server, mac)).token).toBeNull();
    const [{ id }] = (await call(server, 'GET', `/nodes?mac=${mac}`)).body.data;
    const { data } = (await call(server, 'GET', `/nodes/${id}/history`)).body;
    const refusals = data.filter(({ metadata }: { metadata: { rule?: string } | null }) => metadata?.rule);
    expect(refusals).toMatchObject([
      { to_state: 'discovered', metadata: { rule: 'lost', reason: 'WORKFLOW_NOT_FOUND' } },
    ]);
    await call(server, 'POST', '/workflows', { name: 'nowhere', image: { name: 'any' } });
    rmSync(join(server.bootDir, 'installer'), { recursive: true, force: true });
    await boot(server, mac);
    expect((await nodeOf(server, id)).state).toBe('discovered');
    putInstaller(join(server.bootDir, 'installer'));
    expect((await boot(server, mac)).token).not.toBeNull();
    expect(await nodeOf(server, id)).toMatchObject({ state: 'pending', workflow: 'nowhere' });
  });
});
