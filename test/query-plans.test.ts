// @module-tag extended: api/listing.test.ts and others run the statements; this reads their plans on large tables.
/**
 * Every call of the API, made once in a filled fleet; each statement that the server ran for it, or in the background meanwhile, is
 * explained with the values that it had. None may read a large table from end to end.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { LoadClient } from '../bench/client.ts';
import { APPROVALS } from '../bench/growth/admin-calls.ts';
import type { Turn } from '../bench/growth/call.ts';
import { CALLS, callName, missingCalls } from '../bench/growth/calls.ts';
import { fillFleet, machineIdOf, machineOfTurn, prepareFill } from '../bench/growth/fill.ts';
import { approvalsConfiguration } from '../src/server/settings/approval-configuration.ts';
import { openPool } from './parts/postgres.ts';
import { startTestServer, type TestServer } from './parts/server.ts';
import { until } from './parts/until.ts';

/** Enough that an index is cheaper than the table wherever there is one. */
const SIZE = { machines: 4_000, operations: 8_000, events: 16_000 };
const LARGE = new Set(['machines', 'operations', 'events', 'agents', 'agent_presence', 'machine_hardware']);

/** By the name of a prepared statement. */
const ALLOWED = new Map([
  [
    'count-pools',
    'sums over all machines of all pools, and rests in between: src/store/agents/pool-reader.ts',
  ],
  ['pool-gpus', 'the same'],
  ['pool-metrics', 'the same'],
  ['step-durations', 'joins the 10,000 newest operations, which are more than there are machines here'],
  [
    'wanted-hardware',
    'PostgreSQL expects 1,000 keys of each of 100 machines, so here it reads all keys; it has one of one machine',
  ],
]);

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

let server: TestServer;
let client: LoadClient;
let sql: pg.Pool;
/** By text: what the server runs while it is recorded. */
const statements = new Map<string, Statement>();

beforeAll(async () => {
  const configuration = { approvals: approvalsConfiguration.parse(APPROVALS) };
  server = await startTestServer({ configuration });
  sql = openPool(server.database.url);
  client = new LoadClient(server.grpcAddress, server.adminToken);
  await prepareFill(client);
  await fillFleet(sql, SIZE);
  // An overview looks for the newest of these only where there are some.
  await sql.query(
    `UPDATE machines SET maintenance = '{"since": "2026-01-01T00:00:00.000Z", "until": "2026-01-02T00:00:00.000Z",
       "reason": "", "by": "", "exitsByItself": false}' WHERE machine_id = ANY($1)`,
    [[10, 110, 210].map(machineIdOf)],
  );
  // Until then racks and labels are counted machine by machine.
  await until(async () => (await sql.query('SELECT FROM machine_value_deltas LIMIT 1')).rowCount === 0);
});
afterAll(async () => {
  client?.close();
  await sql?.end();
  await server?.stop();
});

function turnOf(turn: number): Turn {
  return {
    client,
    sql,
    machineId: machineIdOf(machineOfTurn(turn)),
    unique: `t${turn}`,
    as: (token) => new LoadClient(server.grpcAddress, token),
  };
}

/** The server's statements are objects; those of this test's own pool are texts. */
async function recorded(work: () => Promise<unknown>): Promise<void> {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await work();
    for (const [config] of query.mock.calls as unknown as [pg.QueryConfig | string][])
      if (typeof config === 'object' && config.text !== undefined && !ALLOWED.has(config.name ?? ''))
        statements.set(config.text, { text: config.text, values: config.values ?? [] });
  } finally {
    query.mockRestore();
  }
}

function scansOf(node: PlanNode): string[] {
  const below = (node.Plans ?? []).flatMap(scansOf);
  const table = node['Relation Name'] ?? '';
  return node['Node Type'] === 'Seq Scan' && LARGE.has(table) ? [table, ...below] : below;
}

async function fullScans({ text, values }: Statement): Promise<string[]> {
  if (!/^\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b/i.test(text)) return [];
  const explained = await sql.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
    text: `EXPLAIN (FORMAT JSON) ${text}`,
    values: [...values],
  });
  return explained.rows.flatMap((row) => scansOf(row['QUERY PLAN'][0].Plan));
}

test('every method of the API has a row of calls', () => {
  expect(missingCalls()).toEqual([]);
  expect(missingCalls([])).toContain('baremetal.v2.MachineService/GetMachine');
});

test('no statement of any call reads a large table from end to end', { timeout: 120_000 }, async () => {
  const calls = CALLS.filter(({ use }) => use !== 'whole');
  for (const [turn, call] of calls.entries()) {
    const act = await call.prepare(turnOf(turn));
    await recorded(act).catch((error: unknown) => {
      throw new Error(`${callName(call)}: ${(error as Error).message}`, { cause: error });
    });
  }
  expect(statements.size).toBeGreaterThan(50);
  const found: string[] = [];
  for (const statement of statements.values())
    for (const table of await fullScans(statement)) found.push(`${table}: ${statement.text}`);
  expect(found).toEqual([]);
});

test('a statement that does is found', async () => {
  expect(
    await fullScans({ text: `SELECT 1 FROM machines WHERE labels ->> 'none' = $1`, values: ['x'] }),
  ).toEqual(['machines']);
  expect(await fullScans({ text: 'SELECT 1 FROM machines WHERE machine_id = $1', values: ['x'] })).toEqual(
    [],
  );
});
