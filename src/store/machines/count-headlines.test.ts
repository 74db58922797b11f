import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, openPool, type TestDatabase } from '../../../test/parts/postgres.ts';
import { parseScope } from '../../domain/access/scope.ts';
import { Database } from '../database/database.ts';
import { StalledOperations } from '../operations/stalled-operations.ts';
import { type HeadlineGroup, newestOfHeadlines } from './count-headlines.ts';
import { OverviewReader } from './overview.ts';

let cloned: TestDatabase;
let database: Database;
let sql: ReturnType<typeof openPool>;

beforeAll(async () => {
  cloned = await cloneDatabase();
  database = new Database({ url: cloned.url, maxConnections: 4, onIdleError: () => {} });
  sql = openPool(cloned.url);
});
afterAll(async () => {
  await database?.close();
  await sql?.end();
  await cloned?.drop();
});

async function headlines(scope = ''): Promise<readonly HeadlineGroup[]> {
  const reader = new OverviewReader(database, new StalledOperations(database, () => new Date()));
  const { headlines: found } = await reader.read(parseScope(scope));
  return [...found].sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
}

const nameOf = ({ reason, byCondition }: HeadlineGroup) => `${reason} ${byCondition}`;

interface Described {
  readonly id: string;
  readonly columns?: Readonly<Record<string, string | object>>;
}

async function insert({ id, columns = {} }: Described): Promise<void> {
  const row = {
    machine_id: id,
    labels: {},
    spec: { customer_id: id.slice(0, 1) },
    phase: 'READY',
    ...columns,
  };
  const names = Object.keys(row);
  await sql.query(
    `INSERT INTO machines (${names.join(', ')}) VALUES (${names.map((_name, index) => `$${index + 1}`).join(', ')})`,
    Object.values(row),
  );
}

const condition = (status: boolean, reason: string, day: number) => ({
  status,
  reason,
  message: '',
  lastTransition: `2026-01-0${day}T00:00:00.000Z`,
});
const observed = (state: string, day: number) => ({
  upstreamId: 'x',
  state,
  at: `2026-01-0${day}T00:00:00.000Z`,
});
const maintenance = (until: string) => ({ phase: 'MAINTENANCE', maintenance: { until } });

/** Two of each, the newer one with the id that sorts last, but for one pair of the same time. */
const FLEET: readonly Described[] = [
  { id: 'a-lost', columns: { service: 'active', presence: 'expired', service_since: '2026-01-01' } },
  { id: 'b-lost', columns: { service: 'active', presence: 'expired', service_since: '2026-01-02' } },
  { id: 'a-drift', columns: { service: 'active', observed: observed('Ready', 1) } },
  { id: 'b-drift', columns: { service: 'active', observed: observed('Ready', 2) } },
  { id: 'a-failed', columns: { install: 'install_failed', install_since: '2026-01-01' } },
  { id: 'b-failed', columns: { install: 'install_failed', install_since: '2026-01-01' } },
  { id: 'a-dim', columns: { conditions: { Degraded: condition(true, 'FanFailed', 1) } } },
  { id: 'b-dim', columns: { conditions: { Degraded: condition(true, 'FanFailed', 2) } } },
  { id: 'a-mute', columns: { conditions: { Reachable: condition(false, 'NoAnswer', 1) } } },
  { id: 'b-mute', columns: { conditions: { Reachable: condition(false, 'NoAnswer', 2) } } },
  { id: 'a-over', columns: maintenance('2026-01-01T00:00:00.000Z') },
  { id: 'b-over', columns: maintenance('2026-01-02T00:00:00.000Z') },
  { id: 'c-later', columns: maintenance('2999-01-01T00:00:00.000Z') },
  {
    id: 'c-both',
    columns: {
      ...maintenance('2026-01-03T00:00:00.000Z'),
      conditions: { NeedsIntervention: condition(true, 'RebootFailed', 3) },
    },
  },
  {
    id: 'c-busy',
    columns: { ...maintenance('2026-01-03T00:00:00.000Z'), active_operation_id: 'op-1' },
  },
  { id: 'c-well', columns: { service: 'active', presence: 'ready', observed: observed('Deployed', 3) } },
];

const group = (reason: string, machines: number, machineId: string, since: string) => ({
  reason,
  byCondition: false,
  machines,
  example: { machineId, since: new Date(since) },
});

test('groups are counted, and each has its newest machine as an example, in a scope too', async () => {
  for (const described of FLEET) await insert(described);
  const all = [
    group('agent_lost', 2, 'b-lost', '2026-01-02'),
    group('degraded', 2, 'b-dim', '2026-01-02'),
    group('drift', 2, 'b-drift', '2026-01-02'),
    group('install_failed', 2, 'a-failed', '2026-01-01'),
    group('maintenance_overdue', 2, 'b-over', '2026-01-02'),
    { reason: 'operation_failed', byCondition: true, machines: 1, example: null },
    group('unreachable', 2, 'b-mute', '2026-01-02'),
  ];
  expect(await headlines()).toEqual(all);
  expect(await headlines('customer_id=a')).toEqual([
    group('agent_lost', 1, 'a-lost', '2026-01-01'),
    group('degraded', 1, 'a-dim', '2026-01-01'),
    group('drift', 1, 'a-drift', '2026-01-01'),
    group('install_failed', 1, 'a-failed', '2026-01-01'),
    group('maintenance_overdue', 1, 'a-over', '2026-01-01'),
    group('unreachable', 1, 'a-mute', '2026-01-01'),
  ]);
  await sql.query('UPDATE machine_count_state SET complete = false');
  expect(await headlines()).toEqual(all);
  await sql.query('UPDATE machine_count_state SET complete = true');
});

test('an example without a time has it since its last change, and is after those with one', async () => {
  const timeless = { status: true, reason: 'FanFailed', message: '' };
  const columns = (rest: object) => ({ ...rest, updated_at: '2026-01-05' });
  await insert({ id: 't-dim', columns: columns({ conditions: { Degraded: timeless } }) });
  await insert({
    id: 't-drift',
    columns: columns({ service: 'active', observed: { upstreamId: 'x', state: 'Ready' } }),
  });
  await insert({
    id: 'u-named',
    columns: columns({ conditions: { NeedsIntervention: { ...timeless, reason: 'RebootFailed' } } }),
  });
  const reader = new OverviewReader(database, new StalledOperations(database, () => new Date()));
  const { attention } = await reader.read(parseScope('customer_id=u'));
  expect(attention.map(({ newest }) => newest)).toEqual([new Date('2026-01-05')]);
  expect(await headlines('customer_id=t')).toEqual([
    group('degraded', 1, 't-dim', '2026-01-05'),
    group('drift', 1, 't-drift', '2026-01-05'),
  ]);
  expect((await headlines()).map(({ example }) => example?.machineId)).toEqual(
    expect.arrayContaining(['b-dim', 'b-drift']),
  );
});

test('an example is the first of a range of its index, however many machines are in trouble', async () => {
  await sql.query(
    `INSERT INTO machines (machine_id, labels, spec, phase, service, presence)
     SELECT 'lost-' || n, '{}', '{}', 'READY', 'active', 'expired' FROM generate_series(1, 5000) AS n`,
  );
  await sql.query('ANALYZE machines');
  const { rows } = await sql.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${newestOfHeadlines('TRUE')}`, [
    ['agent_lost'],
  ]);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('Index Scan using machines_by_headline');
  expect(plan).not.toContain('Sort');
});
