import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { cloneDatabase, openPool, type TestDatabase } from '../../../test/parts/postgres.ts';
import { until } from '../../../test/parts/until.ts';
import { parseScope } from '../../domain/access/scope.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import { MACHINE_FILTER } from '../../domain/filter/machine-filter.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { Database, type Session } from '../database/database.ts';
import { countMachines, type MachineCounts } from '../machines/count-machines.ts';
import { groupKey } from '../machines/machine-keys.ts';
import { OverviewReader } from '../machines/overview.ts';
import { StalledOperations } from '../operations/stalled-operations.ts';
import { checkCounts } from './check-counts.ts';
import { claimCheck } from './count-state.ts';
import { foldCounts, shortenDeltas, TIDY_VALUES, tidyCounts, vacuumDeltas } from './fold-counts.ts';

let cloned: TestDatabase;
let database: Database;
let sql: ReturnType<typeof openPool>;
const never = new AbortController().signal;

beforeAll(async () => {
  cloned = await cloneDatabase();
  database = new Database({ url: cloned.url, maxConnections: 12, onIdleError: () => {} });
  sql = openPool(cloned.url);
});
afterAll(async () => {
  await database?.close();
  await sql?.end();
  await cloned?.drop();
});

const FACETS = [
  ...['phase', 'effective_state', 'service', 'install', 'presence', 'pool', 'schedulable', 'available'],
  ...['unschedulable_reason', 'unavailable_reason', 'provider', 'customer_id', 'location.site'],
  ...['hardware.model', 'hardware.gpu.model', 'hardware.memory_gib', 'hardware.vendor'],
  ...['headline', 'tone', 'needs_attention', 'effective_rack', 'labels.env', 'labels.rack', 'labels.none'],
];

const QUESTIONS = [
  { filter: '', scope: '' },
  { filter: 'effective_state=ATTENTION OR effective_state=BLOCKED', scope: '' },
  { filter: 'NOT presence=ready AND customer_id=c1', scope: '' },
  { filter: 'conditions.RMA=true AND attention=Retired', scope: '' },
  { filter: 'attention_reason=Broken', scope: '' },
  { filter: 'service=deleted', scope: '' },
  { filter: 'schedulable=true OR available=false', scope: 'customer_id=c1 OR location.site=s2' },
  { filter: 'hardware.memory_gib>=256 AND NOT hardware.gpu.model=*', scope: '' },
  { filter: 'hardware.model=R7*', scope: 'customer_id=c1' },
  { filter: 'hardware.vendor=v1 OR hardware.model=R760', scope: '' },
  { filter: 'needs_attention=true', scope: '' },
  { filter: 'headline=maintenance_overdue OR headline=drift', scope: 'customer_id=c1' },
  { filter: 'maintenance_overdue=true OR NOT tone=quiet', scope: '' },
  { filter: 'conditions.Reachable=false AND NOT conditions.Degraded=true', scope: '' },
  { filter: 'conditions.Reachable=true OR conditions.Degraded=false', scope: '' },
  { filter: 'customer_id=c1', scope: '' },
  { filter: 'customer_id=c2 AND spec.customer_id=c2', scope: 'customer_id=c2' },
  { filter: 'customer_id=c1 AND customer_id=c2', scope: '' },
  { filter: 'location.site=s1 OR location.site=s2', scope: '' },
  { filter: 'location.site=s1', scope: 'provider=fake' },
  { filter: 'provider=generic', scope: '' },
  { filter: 'NOT pool=p1', scope: '' },
  { filter: '', scope: 'pool=p1' },
  { filter: '', scope: 'labels.env=prod' },
  { filter: 'labels.env=prod', scope: 'customer_id=c2' },
];

/** By the counts, or machine by machine where they are not complete. */
function counted({ filter, scope }: (typeof QUESTIONS)[number]): Promise<MachineCounts> {
  return database.snapshot((session) =>
    countMachines(session, {
      filter: filter === '' ? null : checkFilter(parseFilter(filter), MACHINE_FILTER),
      scope: parseScope(scope),
      keys: FACETS.map((name) => groupKey(name, 'facets')),
    }),
  );
}

async function withoutCounts<T>(read: () => Promise<T>): Promise<T> {
  await sql.query('UPDATE machine_count_state SET complete = false');
  try {
    return await read();
  } finally {
    await sql.query('UPDATE machine_count_state SET complete = true');
  }
}

/** As if no replica had taken on a check for long. */
async function forgetClaim(): Promise<void> {
  await sql.query(`UPDATE machine_count_claim SET claimed_at = '-infinity'`);
}

/** Statements of every kind that write machines, with values in every combination that a seed gives. */
function writes(seed: number): string[] {
  let state = seed;
  const pick = <T>(values: readonly T[]): T => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return values[Math.floor((state / 2_147_483_648) * values.length)] as T;
  };
  const condition = (type: string) =>
    `"${type}": {"status": ${pick(['true', 'true', 'false'])}, "reason": "${pick(['Broken', 'RebootFailed'])}", "message": "${pick(['a', 'b'])}",
      "lastTransition": "2026-01-0${pick([1, 2, 3])}T00:00:00.000Z"}`;
  const conditions = () =>
    `'{${['Retired', 'RMA', 'NeedsIntervention', 'Drained', 'InCustomerCluster', 'Reachable', 'Degraded']
      .filter(() => pick([true, false, false]))
      .map(condition)
      .join(', ')}}'::jsonb`;
  const optional = (values: readonly string[]) => pick(['NULL', ...values.map((value) => `'${value}'`)]);
  const spec =
    () => `jsonb_build_object('provider', '${pick(['fake', 'generic'])}', 'customer_id', ${pick(["''", "'c1'", "'c2'"])},
    'mac_addresses', '[]'::jsonb, 'location', jsonb_build_object('site', ${pick(["''", "'s1'", "'s2'"])}, 'rack', ${pick(["''", "'k1'", "'k2'"])}))`;
  const labels = () => pick([`'{}'`, `'{"rack": "k3"}'`, `'{"env": "prod"}'`]);
  const hardware = () =>
    pick([
      'NULL',
      ...['128', '256', '512'].map(
        (memory) =>
          `'{"vendor": "${pick(['v1', 'v2'])}", "model": "${pick(['R760', 'R670', ''])}", "memory_gib": ${memory}${pick(['', ', "gpu_model": "H100"'])}}'`,
      ),
    ]);
  const some = () => `machine_id LIKE 'm-%${pick([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])}'`;
  const changes = [
    () => `phase = '${pick(['FACTORY_READY', 'READY', 'MAINTENANCE'])}'`,
    () => `service = ${optional(['active', 'offline', 'draining', 'deleted', 'retired', 'enrolling'])}`,
    () => `install = ${optional(['active', 'pending'])}`,
    () => `presence = ${optional(['ready', 'expired'])}`,
    () => `pool = ${optional(['p1', 'p2'])}`,
    () => `conditions = ${conditions()}`,
    () => `active_operation_id = ${optional(['op-1'])}`,
    () => `spec = ${spec()}, labels = ${labels()}`,
    () => `hardware = ${hardware()}`,
    () =>
      `phase = 'MAINTENANCE', maintenance = '{"until": ${pick(['null', '"2026-01-01T00:00:00.000Z"', '"2026-01-02T00:00:00.000Z"', '"2999-01-01T00:00:00.000Z"'])}}'::jsonb`,
    () => `observed = ${pick(['NULL', `'{"upstreamId": "", "state": "Ready"}'`])}`,
    () =>
      `observed = '{"upstreamId": "x", "state": "${pick(['Deployed', 'Ready', 'absent'])}", "at": "2026-01-0${pick([1, 2, 3])}T00:00:00.000Z"${pick(['', ', "accepted": {"by": "a"}'])}}'::jsonb`,
    () => `updated_at = now()`,
  ];
  return Array.from({ length: 40 }, (_, index) => {
    if (index % 8 === 0)
      return `INSERT INTO machines (machine_id, labels, spec, phase, conditions, hardware)
        SELECT 'm-${seed}-' || i, ${labels()}, ${spec()}, 'READY', ${conditions()}, ${hardware()}::jsonb FROM generate_series(${index}, ${index + 7}) i
        ON CONFLICT DO NOTHING`;
    if (index % 13 === 12) return `DELETE FROM machines WHERE machine_id LIKE 'm-${seed}-%${index % 10}'`;
    return `UPDATE machines SET ${pick(changes)()} WHERE ${some()}`;
  });
}

beforeEach(async () => {
  await sql.query('DELETE FROM machines');
});

test('counts are those of the machines, before, after and while they are folded, with any filter and scope', async () => {
  for (const statement of writes(7)) await sql.query(statement);
  await sql.query(
    `UPDATE machines SET phase = 'MAINTENANCE', conditions = '{}', active_operation_id = NULL,
       maintenance = jsonb_build_object('until', '2026-01-01T00:00:00.000Z') WHERE machine_id LIKE '%1'`,
  );
  for (const fold of [false, true, true]) {
    if (fold) await foldCounts(database);
    for (const question of QUESTIONS)
      expect({ question, ...(await counted(question)) }).toEqual({
        question,
        ...(await withoutCounts(() => counted(question))),
      });
  }
  expect((await checkCounts(database, never))?.differences).toEqual([]);
  const { rows } = await sql.query(
    'SELECT FROM machine_cell_deltas UNION ALL SELECT FROM machine_value_deltas',
  );
  expect(rows).toEqual([]);
});

/** By what is kept alone: the machines are gone, and the triggers have not seen it. */
async function withoutMachines<T>(read: () => Promise<T>): Promise<T> {
  await sql.query('ALTER TABLE machines DISABLE TRIGGER USER');
  await sql.query('DELETE FROM machines');
  await sql.query('ALTER TABLE machines ENABLE TRIGGER USER');
  try {
    return await read();
  } finally {
    await sql.query('TRUNCATE machine_cells, machine_cell_deltas, machine_values, machine_value_deltas');
  }
}

const KEPT: readonly (readonly [filter: string, keys: readonly string[]])[] = [
  ['', ['hardware.model', 'hardware.gpu.model', 'hardware.memory_gib', 'phase']],
  ['hardware.memory_gib>128', ['hardware.model', 'phase']],
  ['hardware.gpu.model=H100 AND phase=READY', ['hardware.memory_gib']],
  ['needs_attention=true OR tone=quiet', ['headline', 'tone', 'effective_state']],
  ['', ['effective_rack', 'labels.env', 'labels.rack']],
  ['customer_id=c1', ['effective_rack', 'phase']],
  ['location.site=s2', ['effective_rack']],
  ['pool=p1', ['effective_rack']],
  ['provider=fake', ['effective_rack']],
];

test('what is kept is counted without reading a machine', async () => {
  for (const statement of writes(9)) await sql.query(statement);
  await sql.query('UPDATE machines SET maintenance = NULL');
  const readAll = () =>
    Promise.all(
      KEPT.map(([filter, keys]) =>
        database.snapshot((session) =>
          countMachines(session, {
            filter: filter === '' ? null : checkFilter(parseFilter(filter), MACHINE_FILTER),
            scope: null,
            keys: keys.map((name) => groupKey(name, 'facets')),
          }),
        ),
      ),
    );
  const before = await readAll();
  expect(before.map(({ total }) => total > 0)).toEqual(KEPT.map(() => true));
  expect(await withoutMachines(readAll)).toEqual(before);
});

/** What the counts alone have, and no machine. */
const GHOST = 'ghost';

async function countsGhosts(): Promise<{ cells: boolean; racks: boolean; labels: boolean }> {
  const { facets } = await database.snapshot((session) =>
    countMachines(session, {
      filter: null,
      scope: null,
      keys: ['phase', 'effective_rack', 'labels.env'].map((name) => groupKey(name, 'facets')),
    }),
  );
  const [cells, racks, labels] = facets.map(({ values }) => values.some(({ value }) => value === GHOST));
  return { cells: cells === true, racks: racks === true, labels: labels === true };
}

test('while the deltas are more than the machines are worth, machines are counted one by one', async () => {
  await sql.query('TRUNCATE machine_cells, machine_cell_deltas, machine_values, machine_value_deltas');
  await sql.query(`INSERT INTO machine_cells (cell, phase, conditions, spec, hardware, machines)
    VALUES ('ghost', '${GHOST}', '{}', '{}', '{}', 1)`);
  await sql.query(`INSERT INTO machine_values (key, list, value, machines)
    VALUES ('ghost rack', 'rack', '${GHOST}', 1), ('ghost label', 'labels.env', '${GHOST}', 1)`);
  try {
    await sql.query(`INSERT INTO machines (machine_id, labels, spec, phase)
      SELECT 'm-' || n, '{"env": "prod"}', '{}', 'READY' FROM generate_series(1, 150) AS n`);
    expect(await countsGhosts()).toEqual({ cells: true, racks: true, labels: true });
    await sql.query(`UPDATE machines SET labels = '{"env": "test"}'`);
    expect(await countsGhosts()).toEqual({ cells: true, racks: false, labels: false });
    await foldCounts(database);
    expect(await countsGhosts()).toEqual({ cells: true, racks: true, labels: true });
    for (const presence of ['ready', 'expired', 'ready', 'expired', 'ready', 'expired', 'ready', 'expired'])
      await sql.query(`DO $$ BEGIN FOR n IN 1..150 LOOP
        UPDATE machines SET presence = '${presence}' WHERE machine_id = 'm-' || n; END LOOP; END $$`);
    expect(await countsGhosts()).toEqual({ cells: false, racks: false, labels: false });
    await foldCounts(database);
    expect(await countsGhosts()).toEqual({ cells: true, racks: true, labels: true });
  } finally {
    await sql.query(
      'TRUNCATE machine_cells, machine_cell_deltas, machine_values, machine_value_deltas, machines CASCADE',
    );
  }
});

test('values that no machine has any more are found by their index, and deleted in parts', async () => {
  await sql.query(`INSERT INTO machine_values (key, list, value, machines)
    SELECT sha256(n::text::bytea), 'labels.serial', n::text, CASE WHEN n % 400 = 0 THEN 0 ELSE 1 END FROM generate_series(1, 20000) AS n`);
  await sql.query('ANALYZE machine_values');
  try {
    const { rows } = await sql.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${TIDY_VALUES}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('machine_values_empty');
    expect(plan).not.toContain('Seq Scan');
    await tidyCounts(database);
    const left = await sql.query('SELECT count(*)::int AS empty FROM machine_values WHERE machines = 0');
    expect(left.rows).toEqual([{ empty: 0 }]);
  } finally {
    await sql.query('TRUNCATE machine_values');
  }
});

/** As many as a replica of an earlier version leaves in a short time: it appends them, and does not fold them. */
const BACKLOG = 50_000;

test('tables of deltas are short again after a backlog, while writers go on', async () => {
  await sql.query(`INSERT INTO machine_cell_deltas (phase, busy, entered, machines)
    SELECT 'READY', false, false, n % 2 * 2 - 1 FROM generate_series(1, ${BACKLOG}) AS n`);
  await sql.query(`INSERT INTO operation_end_deltas
    SELECT date_trunc('minute', now()), 'FAILED', n % 2 * 2 - 1 FROM generate_series(1, ${BACKLOG}) AS n`);
  await sql.query(`INSERT INTO machine_value_deltas (rack, labels, machines)
    SELECT 'k', '{}', n % 2 * 2 - 1 FROM generate_series(1, ${BACKLOG}) AS n`);
  for (let goesOn = true; goesOn; ) goesOn = (await foldCounts(database))?.goesOn ?? false;
  const writer = await sql.connect();
  try {
    await writer.query(
      `BEGIN; INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-1', '{}', '{}', 'READY')`,
    );
    const shortened = shortenDeltas(database);
    await sql.query(
      `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-2', '{}', '{}', 'READY')`,
    );
    await sql.query('DELETE FROM machines');
    await writer.query('ROLLBACK');
    await shortened;
    while ((await foldCounts(database))?.deltas !== 0);
    await shortenDeltas(database);
    const { rows } = await sql.query<{ table: string; bytes: number }>(
      `SELECT relname AS table, pg_relation_size(oid)::int AS bytes FROM pg_class
       WHERE relname IN ('machine_cell_deltas', 'machine_value_deltas', 'operation_end_deltas') ORDER BY 1`,
    );
    expect(rows.filter(({ bytes }) => bytes > 100_000)).toEqual([]);
    expect(rows).toHaveLength(3);
  } finally {
    await writer.query('ROLLBACK');
    writer.release();
  }
});

test('values longer than an index allows, and names that look like other lists, are counted', async () => {
  const long = Array.from({ length: 128 }, (_none, index) =>
    createHash('sha256').update(`${index}`).digest('hex'),
  )
    .join('')
    .slice(0, 4096);
  const insert = (id: string, labels: object) =>
    sql.query(`INSERT INTO machines (machine_id, labels, spec, phase) VALUES ($1, $2, '{}', 'READY')`, [
      id,
      labels,
    ]);
  await insert('m-1', { note: long, 'a/b': 'c', empty: '' });
  await insert('m-2', { note: `${long.slice(0, -1)}!` });
  const facets = async () =>
    (
      await database.snapshot((session) =>
        countMachines(session, {
          filter: null,
          scope: null,
          keys: ['labels.note', 'labels.a/b', 'labels.empty'].map((name) => groupKey(name, 'facets')),
        }),
      )
    ).facets.map(({ values }) => values.map(({ value, machines }) => `${value.slice(-3)} ${machines}`));
  const expected = await withoutCounts(facets);
  expect(expected[0]).toHaveLength(2);
  expect(expected.slice(1)).toEqual([[' 1', 'c 1'], [' 2']]);
  expect(await facets()).toEqual(expected);
  await foldCounts(database);
  expect(await facets()).toEqual(expected);
});

/** In one snapshot: what readers of counts see, and what the machines are. */
function countedTwice(): Promise<{ kept: readonly string[]; found: readonly string[] }> {
  return database.snapshot(async (session) => {
    const keys = ['phase', 'effective_rack', 'labels.env'].map((name) => groupKey(name, 'facets'));
    const { facets } = await countMachines(session, { filter: null, scope: null, keys });
    const found = await session.run<{ value: string }>(
      '',
      `SELECT facet || ' ' || value || ' ' || count(*) AS value FROM machines, LATERAL (VALUES ('phase', phase),
         ('effective_rack', ingot_rack(spec, labels)), ('labels.env', coalesce(labels ->> 'env', ''))) AS of(facet, value)
       WHERE service IS DISTINCT FROM 'deleted' GROUP BY facet, of.value`,
    );
    const kept = facets.flatMap(({ field, values }) =>
      values.map(({ value, machines }) => `${field} ${value} ${machines}`),
    );
    return { kept: kept.sort(), found: found.map(({ value }) => value).sort() };
  });
}

test('writers, folds and checks at the same time lose nothing and count nothing twice', async () => {
  let writing = true;
  const differences: unknown[] = [];
  const seen: Awaited<ReturnType<typeof countedTwice>>[] = [];
  const background = [
    async () => {
      while (writing) await foldCounts(database);
    },
    async () => {
      while (writing) await foldCounts(database);
    },
    async () => {
      while (writing) differences.push(...((await checkCounts(database, never))?.differences ?? []));
    },
    async () => {
      while (writing) differences.push(...((await checkCounts(database, never))?.differences ?? []));
    },
    async () => {
      while (writing) {
        await tidyCounts(database);
        await vacuumDeltas(database);
      }
    },
    async () => {
      while (writing) seen.push(await countedTwice());
    },
  ].map((run) => run());
  await Promise.all(
    [11, 12, 13].map(async (seed) => {
      for (const statement of writes(seed)) {
        const client = await sql.connect();
        try {
          await client.query('BEGIN');
          // One order of rows, as the server's own writers have it.
          await client.query('SELECT FROM machines ORDER BY machine_id FOR UPDATE');
          await client.query(statement);
          await client.query(seed === 13 ? 'ROLLBACK' : 'COMMIT');
        } catch (error) {
          await client.query('ROLLBACK');
          throw error;
        } finally {
          client.release();
        }
      }
    }),
  );
  writing = false;
  await Promise.all(background);
  expect(differences).toEqual([]);
  expect(seen.map(({ kept }) => kept)).toEqual(seen.map(({ found }) => found));
  expect(seen.some(({ found }) => found.length > 0)).toBe(true);
  expect((await checkCounts(database, never))?.differences).toEqual([]);
});

test('a check adds what is missing, takes what is too much, and reports both', async () => {
  for (const statement of writes(21)) await sql.query(statement);
  await foldCounts(database);
  await sql.query(
    `UPDATE machine_cells SET machines = machines + 5 WHERE cell = (SELECT min(cell::text)::bytea FROM machine_cells)`,
  );
  await sql.query(`DELETE FROM machine_values WHERE list = 'rack' AND value = 'k1'`);
  await sql.query(
    `INSERT INTO operation_end_deltas VALUES (date_trunc('minute', now() - interval '1 hour', 'UTC'), 'FAILED', 3)`,
  );
  const checked = await checkCounts(database, never);
  expect(checked?.wereComplete).toBe(true);
  expect(checked?.differences.map(({ of, missing }) => [of, Math.sign(missing)])).toEqual([
    ['cell', -1],
    ['value', 1],
    ['end', -1],
  ]);
  expect((await checkCounts(database, never))?.differences).toEqual([]);
  const { rows } = await sql.query('SELECT differences::int FROM machine_count_state');
  expect(rows).toEqual([{ differences: 3 }]);
});

test('a check finds values that differ and have the same sum', async () => {
  for (const statement of writes(22)) await sql.query(statement);
  await foldCounts(database);
  const swapped = await sql.query<{ key: string }>(
    `UPDATE machine_values SET machines = machines + CASE value WHEN 'k1' THEN 1 ELSE -1 END
     WHERE list = 'rack' AND value IN ('k1', 'k2') RETURNING list || ' ' || value AS key`,
  );
  expect(swapped.rowCount).toBe(2);
  const found = (await checkCounts(database, never))?.differences ?? [];
  expect(found.map(({ key, missing }) => [key, missing]).sort()).toEqual([
    ['rack k1', -1],
    ['rack k2', 1],
  ]);
  expect((await checkCounts(database, never))?.differences).toEqual([]);
  await foldCounts(database);
  expect((await checkCounts(database, never))?.differences).toEqual([]);
});

test('a fleet that is older than its counts is counted machine by machine until a check has counted it', async () => {
  await sql.query('ALTER TABLE machines DISABLE TRIGGER USER');
  for (const statement of writes(31).filter((text) => text.startsWith('INSERT'))) await sql.query(statement);
  await sql.query('ALTER TABLE machines ENABLE TRIGGER USER');
  await sql.query('UPDATE machine_count_state SET complete = false');
  await forgetClaim();
  const before = await counted({ filter: '', scope: '' });
  expect(before.total).toBe(40);
  expect(await claimCheck(database, 3_600)).toBe(true);
  expect(await claimCheck(database, 3_600)).toBe(false);
  expect((await checkCounts(database, never))?.wereComplete).toBe(false);
  expect(await counted({ filter: '', scope: '' })).toEqual(before);
  expect((await sql.query('SELECT complete FROM machine_count_state')).rows).toEqual([{ complete: true }]);
  expect((await checkCounts(database, never))?.differences).toEqual([]);
});

/** In this database: others of the same server have tables of the same number. */
const WAITS_FOR_OPERATIONS = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'operations'::regclass
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

test('while one replica checks, others write, fold, take on the next check, and leave it at once', async () => {
  for (const statement of writes(41)) await sql.query(statement);
  await forgetClaim();
  const blocker = await sql.connect();
  try {
    // The check reads operations last.
    await blocker.query('BEGIN; LOCK TABLE operations IN ACCESS EXCLUSIVE MODE');
    const first = checkCounts(database, never);
    await until(async () => (await sql.query(WAITS_FOR_OPERATIONS)).rowCount === 1);
    expect(await claimCheck(database, 3_600)).toBe(true);
    expect(await checkCounts(database, never)).toBeNull();
    await sql.query(`UPDATE machines SET pool = 'p1', labels = '{"env": "test"}'`);
    expect((await foldCounts(database))?.deltas).toBeGreaterThan(0);
    await blocker.query('COMMIT');
    expect((await first)?.differences).toEqual([]);
    expect((await checkCounts(database, never))?.differences).toEqual([]);
  } finally {
    await blocker.query('ROLLBACK');
    blocker.release();
  }
});

test('a check whose snapshot is older than what another has fixed leaves at once', async () => {
  for (const statement of writes(43)) await sql.query(statement);
  await sql.query('DELETE FROM machine_value_deltas');
  const fixed: unknown[] = [];
  const late = {
    transaction: <T>(work: (session: Session) => Promise<T>) =>
      database.transaction((session) =>
        work({
          run: async (name, text, values) => {
            if (name === 'lock-count-state') {
              await session.run('', 'SELECT FROM machines LIMIT 1');
              fixed.push((await checkCounts(database, never))?.differences.length);
            }
            return session.run(name, text, values);
          },
        }),
      ),
  } as unknown as Database;
  expect(await checkCounts(late, never)).toBeNull();
  expect(fixed).toEqual([expect.any(Number)]);
  expect((await checkCounts(database, never))?.differences).toEqual([]);
});

test('a replica of an earlier version neither reads its counts nor checks them, and counts machine by machine', async () => {
  await sql.query(`UPDATE fleet_count_state SET complete = true, claimed_at = '-infinity'`);
  const { rows } = await sql.query('SELECT complete FROM fleet_count_state');
  expect(rows).toEqual([{ complete: false }]);
});

test('a check that is stopped changes nothing', async () => {
  await sql.query(`UPDATE machine_count_state SET complete = false`);
  expect(await checkCounts(database, AbortSignal.abort())).toBeNull();
  expect((await sql.query('SELECT complete FROM machine_count_state')).rows).toEqual([{ complete: false }]);
  await sql.query(`UPDATE machine_count_state SET complete = true`);
});

test('ends of operations follow their status and time, also back', async () => {
  await sql.query(
    `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-1', '{}', '{}', 'READY')`,
  );
  const end = (id: string, status: string, finished: string) =>
    sql.query(
      `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract, params,
         steps, started_by, finished_at) VALUES ($1, 'm-1', $1, 'f', 'REBOOT', $2, 'operation', '{}', '[]', 'x', ${finished})`,
      [id, status],
    );
  await end('op-1', 'completed', 'now()');
  await end('op-2', 'failed_retryable', `now() - interval '2 hours'`);
  await end('op-3', 'completed', `now() - interval '25 hours'`);
  await end('op-4', 'running', 'NULL');
  const reader = new OverviewReader(database, new StalledOperations(database, () => new Date()));
  const ended = async () => (await reader.read(null)).ended;
  expect(await ended()).toEqual({ SUCCEEDED: 1, FAILED: 1 });
  await foldCounts(database);
  await sql.query(`UPDATE operations SET status = 'reconciled' WHERE operation_id = 'op-2'`);
  expect(await ended()).toEqual({ SUCCEEDED: 2 });
  // First the one that is active: a machine has one at most.
  await sql.query(
    `UPDATE operations SET status = 'cancelled', finished_at = now() WHERE operation_id = 'op-4'`,
  );
  await sql.query(`UPDATE operations SET status = 'pending', finished_at = NULL WHERE operation_id = 'op-1'`);
  expect(await ended()).toEqual({ SUCCEEDED: 1, CANCELED: 1 });
  expect(await ended()).toEqual(await withoutCounts(ended));
  await sql.query('DELETE FROM operations');
  expect(await ended()).toEqual({});
});
