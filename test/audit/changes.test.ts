/** What an event says of a change: who, what before and after, and never a secret. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Event, FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { Configuration } from '../../src/server/settings/configuration.ts';
import { fresh } from '../api/fleet.ts';
import { call, createNode } from '../nodes/rest.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { type Client, startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;
let fleet: Client<typeof FleetService>;

beforeAll(async () => {
  server = await startTestServer({ pools: ['configured'] });
  fleet = server.client(FleetService, server.adminToken);
});
afterAll(() => server?.stop());

/** The newest event first. */
async function eventsOf(kind: string, subject: string): Promise<Event[]> {
  return (await fleet.listEvents({ filter: `kind=${kind} AND subject="${subject}"` })).events;
}

const said = ({ from, to, identity, changes }: Event) => ({
  change: `${from}>${to}`,
  identity,
  fields: Object.fromEntries(changes.map(({ field, before, after }) => [field, `${before}>${after}`])),
});

test('a plan: created, replaced, and nothing for the same content again', async () => {
  const planId = fresh('plan');
  const plan = (displayName: string) => ({
    plan: { planId, displayName, steps: [{ name: 'one', kind: { case: 'reboot' as const, value: {} } }] },
  });
  await server.admin.createPlan(plan('first'));
  await server.admin.createPlan(plan('second'));
  await server.admin.createPlan(plan('second'));
  const events = (await eventsOf('plan', planId)).map(said);
  expect(events).toMatchObject([
    { change: '>replaced', identity: 'admin:admin', fields: { displayName: 'first>second' } },
    { change: '>created', identity: 'admin:admin', fields: { displayName: '>first' } },
  ]);
  expect(Object.keys(events[0]?.fields ?? {})).toEqual(['displayName']);
});

test('a pool: created by a call, and by the configuration', async () => {
  const name = fresh('pool');
  await server.admin.createPool({ name });
  expect((await eventsOf('pool', name)).map(said)).toMatchObject([
    { change: '>created', identity: 'admin:admin' },
  ]);
  expect((await eventsOf('pool', 'configured')).map(said)).toMatchObject([
    { change: '>created', identity: 'system:configuration' },
  ]);
});

test('an image: created, replaced and removed, with its digest', async () => {
  const name = fresh('image');
  const put = async (text: string) => {
    const bytes = Buffer.alloc(1024, text);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const { status } = await fetch(`${server.httpUrl}/api/v1/images/${name}/content?sha256=${sha256}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/octet-stream' },
      body: bytes,
    });
    expect(status).toBe(201);
    return sha256;
  };
  const first = await put('a');
  const second = await put('b');
  expect((await call(server, 'DELETE', `/images/${name}`)).status).toBe(200);
  expect((await eventsOf('image', name)).map(said)).toMatchObject([
    { change: '>removed', fields: { sha256: `${second}>` } },
    { change: '>replaced', fields: { sha256: `${first}>${second}` } },
    { change: '>created', identity: 'admin:admin', fields: { sha256: `>${first}` } },
  ]);
});

test('a workflow: its fields, but not its user data, which may hold secrets', async () => {
  const name = fresh('workflow');
  const store = (secret: string) =>
    call(server, 'POST', '/workflows', {
      name,
      image: { name: 'any' },
      user_data: `#cloud-config\n# ${secret}`,
    });
  expect((await store('hunter2')).status).toBe(201);
  expect((await store('hunter3')).status).toBe(201);
  expect((await call(server, 'DELETE', `/workflows/${name}`)).status).toBe(200);
  const events = await eventsOf('workflow', name);
  expect(events.map(said)).toMatchObject([
    { change: '>removed' },
    { change: '>replaced', fields: { userData: '(not shown)>(not shown)' } },
    { change: '>created', fields: { userData: '>(not shown)' } },
  ]);
  const [{ found } = { found: -1 }] = await server.sql<{ found: number }>(
    `SELECT count(*)::int AS found FROM events e WHERE to_jsonb(e)::text LIKE '%hunter%'`,
  );
  expect(found).toBe(0);
});

test('a node: what an operator edits and tags', async () => {
  const { id } = await createNode(server, { tags: ['old'] });
  await call(server, 'PATCH', `/nodes/${id}`, { notes: 'loud fan', group: 'lab' });
  await call(server, 'POST', `/nodes/${id}/tags`, { tag: 'new' });
  await call(server, 'POST', `/nodes/${id}/tags`, { tag: 'new' });
  expect((await eventsOf('node', id)).map(said)).toMatchObject([
    { change: '>updated', identity: 'admin:admin', fields: { tags: '["old"]>["old","new"]' } },
    { change: '>updated', fields: { notes: '>loud fan' } },
  ]);
  expect((await eventsOf('machine', id)).map(said)[0]).toMatchObject({
    change: 'registered>updated',
    fields: { 'labels.group': '>lab' },
  });
});

test('a machine: which labels and fields of the spec', async () => {
  const machineId = fresh('m');
  await server.machines.registerMachine({
    machine: { machineId, labels: { rack: 'r1' }, spec: { serial: 'S1' } },
  });
  await server.machines.updateMachine({
    machine: { machineId, labels: { rack: 'r2' } },
    updateMask: { paths: ['labels.rack'] },
  });
  expect((await eventsOf('machine', machineId)).map(said)).toMatchObject([
    { change: 'registered>updated', fields: { 'labels.rack': 'r1>r2' } },
    { change: '>registered', fields: { 'labels.rack': '>r1', 'spec.serial': '>S1' } },
  ]);
});

test('the settings: what changed between two starts, and of a secret only that it did', async () => {
  const database = await cloneDatabase();
  const dataDir = mkdtempSync(join(tmpdir(), 'ingot-settings-'));
  const starts = [
    { pools: ['one'], leaseMs: 10_000, configuration: {} },
    {
      pools: ['one', 'two'],
      leaseMs: 20_000,
      configuration: { mirror: { password: 'Sesame-41' } } as Partial<Configuration>,
    },
    {
      pools: ['one', 'two'],
      leaseMs: 20_000,
      configuration: { mirror: { password: 'Sesame-42' } } as Partial<Configuration>,
    },
  ];
  const seen: { changes: { field: string; before: string; after: string }[]; text: string }[] = [];
  try {
    for (const options of starts) {
      const one = await startTestServer({ database, dataDir, ...options });
      const [event] = await one.sql<{ changes: (typeof seen)[number]['changes']; text: string }>(
        `SELECT changes, events::text AS text FROM events WHERE kind = 'settings' ORDER BY event_id DESC LIMIT 1`,
      );
      if (event) seen.push(event);
      await one.stop();
    }
  } finally {
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  }
  const [first, second, third] = seen;
  const fields = (event = first) => event?.changes.map(({ field }) => field).toSorted();
  expect(fields(first)).toEqual([]);
  expect(fields(second)).toEqual(['leaseMs', 'mirror.password', 'pools']);
  expect(second?.changes).toContainEqual({ field: 'leaseMs', before: '10000', after: '20000' });
  expect(second?.changes).toContainEqual({ field: 'pools', before: '["one"]', after: '["one","two"]' });
  // The same words would hide that it changed: a fingerprint shows it, and nothing else.
  expect(fields(third)).toEqual(['mirror.password']);
  for (const { text } of seen) expect(text).not.toContain('Sesame');
});
