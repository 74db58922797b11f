/** Events of an operation, which several indexes find together, and what its rows need although nothing in PostgreSQL refers to them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import { EVENT_FILTER } from '../../domain/filter/event-filter.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { Database } from '../database/database.ts';
import { EVENT_FILTER_COLUMNS } from '../filter/event-columns.ts';
import { filterToSql } from '../filter/to-sql.ts';
import { listActions } from '../operations/list-actions.ts';
import { appendEvents } from './append-events.ts';
import { listEvents } from './event-log.ts';

let cloned: TestDatabase;
let database: Database;

const OPERATIONS = 200;
const ACTION = { action: 'resume', reason: 'r' };

beforeAll(async () => {
  cloned = await cloneDatabase();
  database = new Database({ url: cloned.url, maxConnections: 2, onIdleError: () => {} });
  await database.run(
    '',
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT 'm-' || n, '{}', '{}', 'READY' FROM generate_series(0, ${OPERATIONS}) n`,
  );
  await database.run(
    '',
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract, params, steps, started_by)
     SELECT 'op-' || n, 'm-' || n, 'r', '', 'REBOOT', 'completed', 'operation', '{}', '[]', 'alice' FROM generate_series(1, ${OPERATIONS}) n`,
  );
  // Two events of each operation itself, one of its machine, and one of another machine because of it.
  const event = {
    subject: 's',
    from: '',
    to: '',
    actor: { kind: 'system', id: 'test' },
    comment: '',
    snapshot: null,
  } as const;
  await appendEvents(
    database,
    Array.from({ length: OPERATIONS }, (_, index) => index + 1).flatMap((n) => {
      const own = { ...event, machineId: `m-${n}`, operationId: `op-${n}`, metadata: {} };
      return [
        { ...own, kind: 'operation' as const, metadata: ACTION },
        { ...own, kind: 'step' as const },
        { ...own, kind: 'phase' as const },
        { ...own, kind: 'install' as const, machineId: 'm-0' },
        { ...own, kind: 'condition' as const, operationId: null },
      ];
    }),
  );
  await database.run('', 'ANALYZE events');
});
afterAll(async () => {
  await database?.close();
  await cloned?.drop();
});

const checked = (filter: string) => checkFilter(parseFilter(filter), EVENT_FILTER);

async function kindsOf(filter: string): Promise<string[]> {
  const page = { filter: checked(filter), scope: null, hidden: [], before: null, size: OPERATIONS * 5 };
  return (await listEvents(database, page)).map(({ kind }) => kind).reverse();
}

test('all that happened because of it is found, also to other machines', async () => {
  expect(await kindsOf('operation_id = "op-7"')).toEqual(['operation', 'step', 'phase', 'install']);
});

test('a filter can deny it, and combine it with others', async () => {
  expect(await kindsOf('NOT operation_id = "op-7"')).toHaveLength(OPERATIONS * 5 - 4);
  expect(await kindsOf('operation_id != "op-7"')).toHaveLength(OPERATIONS * 5 - 4);
  expect(await kindsOf('operation_id = "op-7" AND machine_id = "m-0"')).toEqual(['install']);
  expect(await kindsOf('(operation_id = "op-7" OR operation_id = "op-8") AND kind = step')).toEqual([
    'step',
    'step',
  ]);
  expect(await kindsOf('operation_id = "op-of-no-one"')).toEqual([]);
});

test('no other events are read for it', async () => {
  const { text, values } = filterToSql(checked('operation_id = "op-7"'), EVENT_FILTER_COLUMNS, 1);
  const plan = await database.run<{ 'QUERY PLAN': string }>(
    '',
    `EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events WHERE ${text} ORDER BY event_id DESC LIMIT 100`,
    values,
  );
  const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
  expect(lines).toContain('on events_by_operation');
  expect(lines).toContain('on events_by_machine');
  expect(lines).not.toMatch(/Rows Removed by Filter: \d{2,}/);
});

test('the actions on it are found', async () => {
  expect(await listActions(database, 'op-7', 10)).toMatchObject([{ action: 'resume', reason: 'r' }]);
});

test('a machine with operations is not deleted, and logs go with their operation', async () => {
  const deleted = database.run('', `DELETE FROM machines WHERE machine_id IN ('m-0', 'm-9')`);
  await expect(deleted).rejects.toThrow('machine m-9 has operations');
  await database.run(
    '',
    `INSERT INTO operation_logs (operation_id, epoch, line, at, stream, step, text)
     SELECT 'op-' || n, 1, 1, now(), 'stdout', 's', 't' FROM generate_series(8, 9) n`,
  );
  await database.run('', `DELETE FROM operations WHERE operation_id = 'op-9'`);
  expect(await database.run('', 'SELECT operation_id FROM operation_logs')).toEqual([
    { operation_id: 'op-8' },
  ]);
  await database.run('', `DELETE FROM machines WHERE machine_id IN ('m-0', 'm-9')`);
});
