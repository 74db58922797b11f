/** The turn to write, readers, the audit log and the recorded log, on two replicas and the fake provider's consoles. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_TYPED_BYTES } from '../../src/domain/console/console.ts';
import { Console_State, ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { fresh, newMachine } from '../api/fleet.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { openConsole } from './console-client.ts';

let database: TestDatabase;
let server: TestServer;
let other: TestServer;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  database = await cloneDatabase();
  server = await startTestServer({ database });
  other = await startTestServer({ database });
  for (const name of ['alice', 'bob'])
    tokens[name] = (await server.admin.createToken({ name, role: 'operator' })).secret;
  tokens.victor = (await server.admin.createToken({ name: 'victor', role: 'viewer' })).secret;
});
afterAll(async () => {
  await other?.stop();
  await server?.stop();
  await database?.drop();
});

const as = (name: string, where = server) => where.client(ConsoleService, tokens[name]);

async function eventsOf(machineId: string): Promise<string[]> {
  const rows = await server.sql<{ actor_id: string; to_state: string; metadata: unknown }>(
    `SELECT actor_id, to_state FROM events WHERE kind = 'console' AND machine_id = $1 ORDER BY event_id`,
    [machineId],
  );
  return rows.map(({ actor_id, to_state }) => `${actor_id} ${to_state}`);
}

describe('one writer and many readers', () => {
  test('both see what one types, on different replicas', async () => {
    const machineId = await newMachine(server);
    const alice = await openConsole(as('alice'), machineId, { tailBytes: 1000 });
    const bob = await openConsole(as('bob', other), machineId, { tailBytes: 1000 });
    await alice.shows('login: ');
    await bob.shows('login: ');
    await as('alice').takeConsole({ sessionId: alice.sessionId });
    await alice.type('root\r');
    await alice.shows('you typed 4 characters: root');
    await bob.shows('you typed 4 characters: root');
    // A writer on the replica that does not hold the connection.
    await as('bob', other).takeConsole({ sessionId: bob.sessionId, steal: true });
    await bob.type('ls\r');
    await alice.shows('you typed 2 characters: ls');
    expect(await refusal(alice.type('x'))).toMatchObject({ reason: 'CONSOLE_NOT_WRITER' });
    await alice.shows('operator:bob took the turn to write from operator:alice');
    const [row] = await server.sql<{ rows: number }>('SELECT count(*)::int AS rows FROM console_input');
    expect(row?.rows).toBe(0);
    await alice.leave();
    await bob.leave();
    await as('bob', other).closeConsole({ sessionId: bob.sessionId });
    expect(await eventsOf(machineId)).toEqual([
      'alice opened',
      'bob opened',
      'alice turn taken',
      'alice written to',
      'bob taken over',
      'bob written to',
      'bob closed',
    ]);
  });

  test('who asks for the turn has it when the writer releases it', async () => {
    const machineId = await newMachine(server);
    const alice = await openConsole(as('alice'), machineId);
    const bob = await openConsole(as('bob'), machineId);
    await as('alice').takeConsole({ sessionId: alice.sessionId });
    const asked = await as('bob').takeConsole({ sessionId: bob.sessionId });
    expect(asked.writerSessionId).toBe(alice.sessionId);
    await until(alice.console, (seen) =>
      seen?.readers.some(({ asks, actor }) => asks && actor === 'operator:bob'),
    );
    await as('alice').releaseConsole({ sessionId: alice.sessionId });
    await until(bob.console, (seen) => seen?.writerSessionId === bob.sessionId);
    await until(bob.console, (seen) => seen?.state === Console_State.OPEN);
    await bob.type('hi\r');
    await bob.shows('you typed 2 characters');
    await bob.leave();
    await alice.leave();
  });

  test('a session whose client is gone ends, and the turn goes on', async () => {
    const machineId = await newMachine(server);
    const alice = await openConsole(as('alice'), machineId);
    await as('alice').takeConsole({ sessionId: alice.sessionId });
    await alice.leave();
    const bob = await openConsole(as('bob'), machineId);
    await as('bob').takeConsole({ sessionId: bob.sessionId });
    await server.sql(`UPDATE console_sessions SET seen_until = now() WHERE session_id = $1`, [
      alice.sessionId,
    ]);
    await until(bob.console, (seen) => seen?.writerSessionId === bob.sessionId);
    expect(await eventsOf(machineId)).toContain('alice closed');
    await bob.leave();
    expect(await refusal(as('alice').closeConsole({ sessionId: alice.sessionId }))).toMatchObject({
      reason: 'CONSOLE_SESSION_NOT_FOUND',
    });
  });
});

test('a stream is resumed by its offset, on another replica, without a gap', async () => {
  const machineId = await newMachine(server);
  const first = await openConsole(as('alice'), machineId, { tailBytes: 1000 });
  await as('alice').takeConsole({ sessionId: first.sessionId });
  await first.shows('login: ');
  await first.leave();
  await first.type('while away\r');
  const again = await openConsole(as('alice', other), machineId, {
    sessionId: first.sessionId,
    offset: first.offset(),
  });
  await again.shows('characters: while away');
  const log = await as('alice').getConsoleLog({ machineId });
  await until(() => again.text().endsWith('login: '));
  expect(`${first.text()}${again.text()}`).toBe(
    Buffer.from(log.data)
      .toString('latin1')
      .slice(0, first.text().length + again.text().length),
  );
  await again.leave();
});

test('only the opener uses a session, and a viewer opens none', async () => {
  const machineId = await newMachine(server);
  const { sessionId } = await as('alice').openConsole({ machineId });
  expect(await refusal(as('bob').takeConsole({ sessionId, steal: true }))).toMatchObject({
    reason: 'CONSOLE_SESSION_NOT_FOUND',
  });
  for (const call of [as('victor').openConsole({ machineId }), as('victor').getConsoleLog({ machineId })])
    expect(await refusal(call)).toMatchObject({ reason: 'PERMISSION_DENIED' });
});

test('a scope hides the consoles of other machines', async () => {
  const machineId = await newMachine(server, { labels: { team: 'red' } });
  const { secret } = await server.admin.createToken({
    name: fresh('blue'),
    role: 'operator',
    scope: 'labels.team=blue',
  });
  const blue = server.client(ConsoleService, secret);
  expect(await refusal(blue.openConsole({ machineId }))).toMatchObject({ reason: 'MACHINE_NOT_FOUND' });
  expect(await refusal(blue.getConsoleLog({ machineId }))).toMatchObject({ reason: 'MACHINE_NOT_FOUND' });
});

test('wrong input is refused by the field', async () => {
  const machineId = await newMachine(server);
  const { sessionId } = await as('alice').openConsole({ machineId });
  const alice = as('alice');
  const tooLong = new Uint8Array(MAX_TYPED_BYTES + 1);
  expect(await refusal(alice.writeConsole({ sessionId, data: tooLong }))).toMatchObject({
    reason: 'INVALID_FIELD',
  });
  expect(await refusal(alice.writeConsole({ sessionId }))).toMatchObject({ reason: 'MISSING_FIELD' });
  expect(await refusal(alice.getConsoleLog({ machineId, offset: -1n }))).toMatchObject({
    reason: 'INVALID_FIELD',
  });
  expect(await refusal(alice.getConsole({ machineId: 'none-such' }))).toMatchObject({
    reason: 'MACHINE_NOT_FOUND',
  });
  const generic = await newMachine(server, { spec: { provider: 'generic' } });
  expect(await refusal(alice.openConsole({ machineId: generic }))).toMatchObject({
    reason: 'CONSOLE_NOT_SUPPORTED',
  });
});
