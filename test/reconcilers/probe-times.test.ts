// @module-tag extended: beside-operations.test.ts has probes; src/reconcilers when they are due.
/** How probes are spread over time, on a database whose clock changes only when the test moves it. */
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimProbes, insertMissingProbes, spreadProbes } from '../../src/store/machines/machine-probes.ts';
import { until } from '../parts/until.ts';
import { openReconcilerHarness, type ReconcilerHarness, WatchedInspect } from './reconciler-harness.ts';

const FLEET = 5_000;
const INTERVAL = 60_000;
const WINDOW = INTERVAL / 20;
const STEP = INTERVAL / 100;
const AVERAGE = FLEET / 20;

let harness: ReconcilerHarness;

beforeEach(async () => {
  harness = await openReconcilerHarness();
  await holdClock(harness.url);
});
afterEach(() => harness.close());

/** Statements of connections that are made from now on find this now() before PostgreSQL's own. */
async function holdClock(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    CREATE SCHEMA held;
    CREATE TABLE held.clock AS SELECT now() AS at;
    CREATE FUNCTION held.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM held.clock';
    ALTER DATABASE ${new URL(url).pathname.slice(1)} SET search_path = held, pg_catalog, public`);
  await client.end();
}

async function letTimePass(ms: number): Promise<void> {
  await harness.sql(`UPDATE held.clock SET at = at + $1 * interval '1 ms'`, [ms]);
}

async function releaseClock(): Promise<void> {
  await harness.sql(
    `CREATE OR REPLACE FUNCTION held.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT pg_catalog.now()'`,
  );
}

const spread = () =>
  spreadProbes(harness.database, {
    lateMs: STEP,
    few: 64,
    soonMs: 1_000,
    intervalMs: INTERVAL,
    limit: 100_000,
  });

async function importFleet(): Promise<void> {
  await harness.addMachines(FLEET);
  expect(await insertMissingProbes(harness.database, 100_000)).toBe(FLEET);
  expect(await spread()).toEqual({ fresh: FLEET, late: 0 });
}

/** The most of these times that are in any one window. */
function mostInAWindow(times: readonly number[], windowMs: number): number {
  const sorted = [...times].sort((left, right) => left - right);
  let from = 0;
  return sorted.reduce((most, time, index) => {
    while ((sorted[from] ?? time) <= time - windowMs) from += 1;
    return Math.max(most, index - from + 1);
  }, 0);
}

async function dueInMs(): Promise<number[]> {
  const rows = await harness.sql<{ ms: number }>(
    'SELECT (extract(epoch FROM due_at - now()) * 1000)::float8 AS ms FROM machine_looks',
  );
  return rows.map(({ ms }) => ms);
}

/** Claims all probes that become due in so many intervals, and returns when each was claimed. */
async function sweep(intervals: number): Promise<number[]> {
  const made: number[] = [];
  for (let time = STEP; time <= intervals * INTERVAL; time += STEP) {
    await letTimePass(STEP);
    const options = { provider: 'watched', limit: FLEET, intervalMs: INTERVAL, lateMs: 2 * STEP };
    const claimed = await claimProbes(harness.database, options);
    for (const _probe of claimed) made.push(time);
  }
  return made;
}

describe('5,000 machines imported at once', () => {
  it('are due all over the interval', async () => {
    await importFleet();
    const due = await dueInMs();
    expect(Math.max(...due)).toBeLessThanOrEqual(INTERVAL);
    expect(mostInAWindow(due, WINDOW)).toBeLessThan(1.5 * AVERAGE);
  });

  it('stay spread over repeated probes, each machine at least once per interval', async () => {
    await importFleet();
    const made = await sweep(3);
    expect(made.length).toBeGreaterThanOrEqual(3 * FLEET * 0.98);
    expect(made.length).toBeLessThan((3 * FLEET) / 0.9);
    expect(mostInAWindow(made, WINDOW)).toBeLessThan(1.6 * AVERAGE);
    expect(Math.max(...(await dueInMs()))).toBeLessThanOrEqual(INTERVAL);
  });
});

describe('after a downtime', () => {
  it('of days, the overdue probes are made at the usual rate', async () => {
    await importFleet();
    await letTimePass(10 * INTERVAL);
    expect(await claimProbes(harness.database, claimAll)).toEqual([]);
    expect(await spread()).toEqual({ fresh: 0, late: FLEET });
    expect(mostInAWindow(await dueInMs(), WINDOW)).toBeLessThan(1.5 * AVERAGE);
  });

  // Twice is what the rules give: half of the fleet has kept its times, the other half is laid over all of them, and a
  // sweep runs into the next. The rest is left to chance; a queue worked off at once would be ten times the usual.
  it('of half an interval, they are made at about twice the usual rate', { tags: ['extended'] }, async () => {
    await importFleet();
    await letTimePass(INTERVAL / 2);
    const { late } = await spread();
    expect(late).toBeGreaterThan(FLEET * 0.4);
    expect(mostInAWindow(await sweep(2), WINDOW)).toBeLessThan(2.5 * AVERAGE);
  });
});

const claimAll = { provider: 'watched', limit: FLEET, intervalMs: INTERVAL, lateMs: STEP };

it('a few late or new machines are due within a second', async () => {
  await harness.addMachines(64);
  await insertMissingProbes(harness.database, 1_000);
  await spread();
  expect(Math.max(...(await dueInMs()))).toBeLessThanOrEqual(1_000);
});

it('machines that have a scheduled probe do not get another', async () => {
  await importFleet();
  await harness.addMachines(3);
  expect(await insertMissingProbes(harness.database, 2)).toBe(2);
  expect(await insertMissingProbes(harness.database, 2)).toBe(1);
  expect(await insertMissingProbes(harness.database, 2)).toBe(0);
});

it('a reconciler that starts after a downtime keeps to the rate in real time', {
  tags: ['extended'],
}, async () => {
  await releaseClock();
  const watched = new WatchedInspect();
  const intervalMs = 5_000;
  await harness.addMachines(1_000);
  await harness.sql(`INSERT INTO machine_looks SELECT machine_id, now() - interval '1 day' FROM machines`);
  harness.reconciler({ watched }, { intervalMs });
  await until(
    async () => new Set(watched.started.map((probe) => probe.machineId)).size,
    (seen) => seen === 1_000,
  );
  const times = watched.started.map((probe) => probe.at);
  expect(mostInAWindow(times, intervalMs / 5)).toBeLessThan(2.5 * 200);
});
