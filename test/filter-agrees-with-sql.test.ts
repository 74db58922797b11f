import fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkFilter } from '../src/domain/filter/check.ts';
import { parseFilter } from '../src/domain/filter/parse.ts';
import { filterPredicate } from '../src/domain/filter/predicate.ts';
import { coinFrom, printFilter } from '../src/domain/filter/print-filter.fixture.ts';
import {
  filterOf,
  type Sample,
  sampleRestriction,
  sampleRow,
  sampleSchema,
} from '../src/domain/filter/sample-filter.fixture.ts';
import { SAMPLE_COLUMNS } from '../src/store/filter/sample-columns.fixture.ts';
import { filterToSql } from '../src/store/filter/to-sql.ts';
import { cloneDatabase, type TestDatabase } from './parts/postgres.ts';

// The rows are the same in every run, so that a failure is a matter of its filter alone.
const rows = fc.sample(sampleRow, { numRuns: 400, seed: 7 });

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await cloneDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`
    CREATE TABLE sample (
      id integer PRIMARY KEY, name text, phase text, seen_at timestamptz, attempts integer, ready boolean,
      pools text[], labels jsonb NOT NULL, conditions jsonb NOT NULL
    )`);
  await client.query('CREATE INDEX sample_labels ON sample USING gin (labels jsonb_path_ops)');
  await client.query('CREATE INDEX sample_seen_at ON sample (seen_at)');
  for (const [id, row] of rows.entries()) await insert(id, row);
});

afterAll(async () => {
  await client?.end();
  await database?.drop();
});

async function insert(id: number, row: Sample): Promise<void> {
  const micros = String(row.microseconds).padStart(3, '0');
  await client.query('INSERT INTO sample VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)', [
    id,
    row.name,
    row.phase,
    row.seenAt?.toISOString().replace('Z', `${micros}Z`),
    row.attempts,
    row.ready,
    row.pools,
    JSON.stringify(row.labels),
    JSON.stringify(row.conditions),
  ]);
}

async function foundBySql(filter: string): Promise<number[]> {
  const { text, values } = filterToSql(checkFilter(parseFilter(filter), sampleSchema), SAMPLE_COLUMNS, 2);
  const found = await client.query<{ id: number }>(
    `SELECT id FROM sample WHERE id >= $1 AND ${text} ORDER BY id`,
    [0, ...values],
  );
  return found.rows.map((row) => row.id);
}

function foundInMemory(filter: string): number[] {
  const holds = filterPredicate(checkFilter(parseFilter(filter), sampleSchema));
  return [...rows.keys()].filter((id) => holds(rows[id] as Sample));
}

test.each([
  '',
  'name=*',
  'name!=a',
  'name=""',
  'name!=""',
  'NOT name=""',
  'labels.rack:a',
  'labels.rack:""',
  'NOT labels.rack:*',
  'status.seen_at>=0001-01-01T00:00:00Z',
])('SQL and memory find the same rows for %s', async (filter) => {
  expect(await foundBySql(filter)).toEqual(foundInMemory(filter));
});

const SAME_ROWS = 'SQL and memory find the same rows for every filter';
test(`${SAME_ROWS} (300 of them)`, () => proveFilters({ numRuns: 300, seed: 7 }));
test(`${SAME_ROWS} (1,500 at random)`, { tags: ['extended'] }, () => proveFilters({ numRuns: 1_500 }));

async function proveFilters(parameters: { numRuns: number; seed?: number }): Promise<void> {
  let selective = 0;
  const coins = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(filterOf(sampleRestriction), coins, async (node, sides) => {
      const filter = printFilter(node, coinFrom(sides));
      const expected = foundInMemory(filter);
      if (expected.length > 0 && expected.length < rows.length) selective += 1;
      expect(await foundBySql(filter)).toEqual(expected);
    }),
    parameters,
  );
  // Filters that find all or nothing agree too easily.
  expect(selective).toBeGreaterThan(parameters.numRuns / 2);
}

test('the extremes of time and number reach the database unharmed', async () => {
  for (const at of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.998Z'])
    for (const comparator of ['=', '<', '<=', '>', '>='])
      expect(await foundBySql(`status.seen_at${comparator}${at}`)).toEqual(
        foundInMemory(`status.seen_at${comparator}${at}`),
      );
  for (const number of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])
    expect(await foundBySql(`attempts<${number}`)).toEqual(foundInMemory(`attempts<${number}`));
});

test.each([
  ['labels.rack=a', 'sample_labels'],
  ['status.seen_at>2026-01-01T00:00:00Z', 'sample_seen_at'],
])('%s can be answered by an index', async (filter, index) => {
  const { text, values } = filterToSql(checkFilter(parseFilter(filter), sampleSchema), SAMPLE_COLUMNS, 1);
  await client.query('SET enable_seqscan = off');
  const plan = await client.query({
    text: `EXPLAIN SELECT id FROM sample WHERE ${text}`,
    values: [...values],
    rowMode: 'array',
  });
  await client.query('RESET enable_seqscan');
  expect(plan.rows.join('\n')).toContain(`on ${index}`);
});
