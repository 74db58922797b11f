// @module-tag extended: idempotency.test.ts and phases.test.ts start operations of each kind.
/** An operation that its start claims leaves the same story as one that a replica claims later, in fewer transactions. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { ended, newMachine, phaseOf, run, start } from './fleet.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

interface StoredEvent extends Record<string, unknown> {
  readonly xid: string;
  readonly what: string;
  readonly shown: unknown;
}

const storyOf = (operationId: string) =>
  server.sql<StoredEvent>(
    `SELECT xid::text, concat_ws(' ', kind, from_state, '>', to_state, actor_kind) AS what,
       jsonb_build_array(snapshot -> 'status', snapshot -> 'current', snapshot -> 'steps' -> 0 -> 'state',
         snapshot -> 'steps' -> 0 -> 'attempts', metadata - 'request_id') AS shown
     FROM events WHERE operation_id = $1 ORDER BY event_id`,
    [operationId],
  );

const rowOf = async (operationId: string) =>
  (
    await server.sql(
      `SELECT status, current, owner, epoch::int, deaths, waiting_for, deadline_at, finished_at >= started_at AS ends_later,
         (SELECT active_operation_id FROM machines m WHERE m.machine_id = o.machine_id) AS active
       FROM operations o WHERE operation_id = $1`,
      [operationId],
    )
  )[0];

async function story(type: 'ENTER_MAINTENANCE' | 'REBOOT', claims: TestServer['claimsAtStart']) {
  server.claimsAtStart = claims;
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/step-ms': '0' } });
  const operation = await start(server, type, machineId);
  expect(phaseOf(operation)).toBe('PENDING');
  await ended(server, operation);
  const events = await storyOf(operation.operationId);
  return { events, row: await rowOf(operation.operationId) };
}

const transactions = ({ events }: { readonly events: readonly StoredEvent[] }) =>
  events.map(({ xid }) => [...new Set(events.map((event) => event.xid))].indexOf(xid));

test.each(['ENTER_MAINTENANCE', 'REBOOT'] as const)(
  '%s has the same events and the same row',
  async (type) => {
    const [atStart, later] = [await story(type, 'where there is room'), await story(type, 'never')];
    const historyOf = ({ events }: typeof atStart) => events.map(({ what, shown }) => [what, shown]);
    expect(historyOf(atStart)).toEqual(historyOf(later));
    expect(atStart.row).toEqual(later.row);
    expect(atStart.row).toMatchObject({ status: 'completed', owner: null, epoch: 1, active: null });
  },
);

test('an operation of instant steps ends in the transaction that starts it', async () => {
  const entered = await story('ENTER_MAINTENANCE', 'where there is room');
  expect(new Set(transactions(entered))).toEqual(new Set([0]));
  expect(entered.events.map(({ what }) => what)).toEqual([
    'operation  > pending admin',
    'operation pending > running system',
    'step waiting > running system',
    'step running > succeeded system',
    'operation running > completed system',
    'phase READY > MAINTENANCE system',
  ]);
});

test('any other is held from its first transaction on', async () => {
  const rebooted = await story('REBOOT', 'where there is room');
  expect(transactions(rebooted).slice(0, 4)).toEqual([0, 0, 0, 1]);
  const claimed = await story('REBOOT', 'never');
  expect(transactions(claimed).slice(0, 3)).toEqual([0, 1, 1]);
});

test('a request that is sent twice at once starts one operation, and both get it', async () => {
  server.claimsAtStart = 'where there is room';
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/step-ms': '0' } });
  const requests = [1, 2].map(() => start(server, 'ENTER_MAINTENANCE', machineId, { requestId: 'twice' }));
  const [first, second] = await Promise.all(requests);
  expect(second?.operationId).toBe(first?.operationId);
  await run(server, 'EXIT_MAINTENANCE', machineId);
});
