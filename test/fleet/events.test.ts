// @module-tag extended: audit/changes.test.ts and api/watching.test.ts read the same events.
import { setTimeout as sleep } from 'node:timers/promises';
import { toJsonString } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  EventSchema,
  FleetService,
  type Event as LoggedEvent,
  type WatchedEvent,
  WatchedEvent_Kind,
} from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fresh, newMachine, run } from '../api/fleet.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { type Client, refusal, startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;
let fleet: Client<typeof FleetService>;
let viewer: Client<typeof FleetService>;

beforeAll(async () => {
  server = await startTestServer();
  fleet = server.client(FleetService, server.adminToken);
  const { secret } = await server.admin.createToken({ name: 'desk', role: 'viewer' });
  viewer = server.client(FleetService, secret);
});
afterAll(() => server?.stop());

async function listed(
  from: Client<typeof FleetService>,
  filter: string,
  pageSize = 0,
): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  let pageToken = '';
  do {
    const page = await from.listEvents({ filter, pageSize, pageToken });
    events.push(...page.events);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return events;
}

/** Watches until it has seen enough, then hangs up. */
async function watched(
  from: Client<typeof FleetService>,
  request: { filter?: string; cursor?: string },
  isEnough: (message: WatchedEvent) => boolean,
): Promise<WatchedEvent[]> {
  const seen: WatchedEvent[] = [];
  for await (const message of from.watchEvents(request)) {
    seen.push(message);
    if (isEnough(message)) break;
  }
  return seen;
}

const isAlive = ({ kind }: WatchedEvent) => kind === WatchedEvent_Kind.ALIVE;
const ids = (events: readonly LoggedEvent[]) => events.map(({ eventId }) => eventId);

describe('the log', () => {
  test('is listed newest first, page by page, as it is stored', async () => {
    const machineId = await newMachine(server, { phase: 'READY' });
    const filter = `machine_id=${machineId}`;
    const stored = await server.sql<{ event_id: string; kind: string; actor_id: string; metadata: object }>(
      'SELECT event_id, kind, actor_id, metadata FROM events WHERE machine_id = $1 ORDER BY event_id DESC',
      [machineId],
    );
    expect(stored.length).toBeGreaterThan(6);
    const events = await listed(viewer, filter, 3);
    expect(
      events.map(({ eventId, kind, actorId, metadata }) => ({
        event_id: Number(eventId),
        kind,
        actor_id: actorId,
        metadata: JSON.parse(metadata) as object,
      })),
    ).toEqual(stored.map((row) => ({ ...row, event_id: Number(row.event_id) })));
    expect(events.at(-1)).toMatchObject({ kind: 'machine', actorKind: 'admin', machineId });
  });

  test('is filtered by every field', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const { operationId } = await run(server, 'REBOOT', machineId);
    const all = await listed(fleet, `machine_id=${machineId}`);
    const by = async (filter: string) => ids(await listed(fleet, `machine_id=${machineId} AND ${filter}`));
    const where = (holds: (event: LoggedEvent) => boolean) => ids(all.filter(holds));
    expect(await by('kind=step')).toEqual(where(({ kind }) => kind === 'step'));
    expect(await by('subject=reboot')).toEqual(where(({ subject }) => subject === 'reboot'));
    expect(await by(`operation_id=${operationId}`)).toEqual(
      where((event) => event.operationId === operationId),
    );
    expect(await by('actor_kind=admin')).toEqual(where(({ actorKind }) => actorKind === 'admin'));
    expect(await by('NOT actor_id=admin')).toEqual(where(({ actorId }) => actorId !== 'admin'));
    expect(await by('from=running AND to=succeeded')).toEqual(
      where(({ from, to }) => from === 'running' && to === 'succeeded'),
    );
    expect(await by('comment:"boot"')).toEqual(where(({ comment }) => comment.includes('boot')));
    expect(await by('at<2020-01-01T00:00:00Z')).toEqual([]);
    for (const empty of ['kind=step', 'subject=reboot', 'actor_kind=admin', 'from=running AND to=succeeded'])
      expect(await by(empty)).not.toEqual([]);
    expect(await refusal(fleet.listEvents({ filter: 'machine=1' }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test('refuses tokens that it did not give out', async () => {
    const { nextPageToken } = await fleet.listEvents({ pageSize: 1 });
    const forged = Buffer.from(
      JSON.stringify([JSON.parse(Buffer.from(nextPageToken, 'base64url').toString())[0], '1; DROP']),
    ).toString('base64url');
    for (const call of [
      () => fleet.listEvents({ pageToken: nextPageToken, filter: 'kind=step' }),
      () => fleet.listEvents({ pageToken: 'nonsense' }),
      () => fleet.listEvents({ pageToken: forged }),
    ])
      expect((await refusal(call())).reason).toBe('INVALID_PAGE_TOKEN');
  });

  test('shows events of tokens to admins only', async () => {
    const name = fresh('secretive');
    const { secret } = await server.admin.createToken({ name, role: 'operator' });
    const filter = `subject=${name}`;
    expect(await listed(fleet, filter)).toMatchObject([{ kind: 'token', to: 'operator', actorId: 'admin' }]);
    expect(await listed(viewer, filter)).toEqual([]);
    expect(await listed(server.client(FleetService, secret), 'kind=token')).toEqual([]);
  });

  test('never holds a secret', async () => {
    await server.admin.createPool({ name: 'vault' });
    const { token } = await server.admin.createMachine({ pool: 'vault' });
    const { secret } = await server.admin.createToken({ name: fresh('vault'), role: 'viewer' });
    const text = (await listed(fleet, '')).map((event) => toJsonString(EventSchema, event)).join('\n');
    expect(text).toContain('vault');
    for (const hidden of [token, secret, server.adminToken]) expect(text).not.toContain(hidden);
  });
});

describe('a watch', () => {
  test('starts with ALIVE, sends what happens, and stays open while nothing does', async () => {
    const machineId = fresh('watched');
    let wasAlive = 0;
    const startedAt = performance.now();
    const seen = await watched(viewer, { filter: `machine_id=${machineId}` }, (message) => {
      if (isAlive(message)) wasAlive += 1;
      if (wasAlive === 1 && isAlive(message))
        void server.machines.registerMachine({ machine: { machineId } });
      return wasAlive === 2;
    });
    expect(seen.map(({ kind }) => WatchedEvent_Kind[kind])).toEqual(['ALIVE', 'EVENT', 'ALIVE']);
    expect(seen[1]?.event).toMatchObject({ kind: 'machine', machineId, actorId: 'admin' });
    expect(performance.now() - startedAt).toBeGreaterThan(4_900);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });

  test('moves its cursor on while what happens does not match', { tags: ['extended'] }, async () => {
    let alive = 0;
    const seen = await watched(viewer, { filter: 'machine_id=no-such' }, (message) => {
      if (alive === 0) void newMachine(server);
      alive += isAlive(message) ? 1 : 0;
      return alive === 2;
    });
    expect(seen[1]?.cursor).not.toBe(seen[0]?.cursor);
  });

  test('hides tokens from callers that may not list them', async () => {
    const name = fresh('hidden');
    const machineId = fresh('after');
    const isLast = ({ event }: WatchedEvent) => event?.machineId === machineId;
    const watches = [fleet, viewer].map((from) => watched(from, {}, isLast));
    await sleep(300);
    await server.admin.createToken({ name, role: 'viewer' });
    await server.machines.registerMachine({ machine: { machineId } });
    const [admins = [], viewers = []] = await Promise.all(watches);
    expect(admins.some(({ event }) => event?.subject === name)).toBe(true);
    expect(viewers.some(({ event }) => event?.kind === 'token')).toBe(false);
  });

  test('resumed by its cursor, also on a server that was started again, misses nothing and repeats nothing', async () => {
    const database = await cloneDatabase();
    let current = await startTestServer({ database });
    const token = current.adminToken;
    const client = () => current.client(FleetService, token);
    const machineId = await newMachine(current);
    const filter = `machine_id=${machineId} AND NOT kind=machine`;
    let cursor = (await watched(client(), { filter }, isAlive)).at(-1)?.cursor ?? '';
    const received: bigint[] = [];
    for (const type of ['ENTER_MAINTENANCE', 'REIMAGE', 'EXIT_MAINTENANCE', 'REBOOT'] as const) {
      await run(current, type, machineId);
      let takes = 3;
      for (const message of await watched(client(), { filter, cursor }, ({ event }) => {
        takes -= event ? 1 : 0;
        return takes === 0;
      })) {
        if (message.event) received.push(message.event.eventId);
        cursor = message.cursor;
      }
      await current.stop();
      current = await startTestServer({ database });
    }
    const last = ids(await listed(current.client(FleetService, current.adminToken), filter)).reverse();
    const rest = await watched(
      current.client(FleetService, current.adminToken),
      { filter, cursor },
      ({ event }) => event?.eventId === last.at(-1),
    );
    received.push(...rest.flatMap(({ event }) => (event ? [event.eventId] : [])));
    expect(received.length).toBeGreaterThan(20);
    expect(received).toEqual(last);
    await current.stop();
    await database.drop();
  });

  test('takes the cursors of WatchOperations, and no others', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    let cursor = '';
    for await (const event of server.operations.watchOperations({ filter: `machine_id=${machineId}` })) {
      cursor = event.cursor;
      if (cursor !== '') break;
    }
    await run(server, 'REBOOT', machineId);
    const seen = await watched(
      fleet,
      { filter: `machine_id=${machineId}`, cursor },
      ({ event }) => event?.to === 'completed',
    );
    expect(seen.length).toBeGreaterThan(3);
    for (const wrong of ['x', Buffer.from('["log",1,1]').toString('base64url')])
      expect((await refusal(fleet.watchEvents({ cursor: wrong }))).reason).toBe('INVALID_CURSOR');
    expect((await refusal(fleet.watchEvents({ filter: 'kind=nothing' }))).code).toBe('INVALID_ARGUMENT');
  });

  test('is on the Connect mount too', async () => {
    const transport = createConnectTransport({
      baseUrl: server.httpUrl,
      httpVersion: '1.1',
      interceptors: [
        (next) => (request) => {
          request.header.set('authorization', `Bearer ${server.adminToken}`);
          return next(request);
        },
      ],
    });
    const client = createClient(FleetService, transport);
    expect((await client.whoAmI({})).role).toBe('admin');
    for await (const message of client.watchEvents({})) {
      expect(message.kind).toBe(WatchedEvent_Kind.ALIVE);
      break;
    }
  });
});
