/** What a step of the database's clock does to each row that waits for it, and which replica may take a lease over meanwhile. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { packageVersion } from '../../src/package-root.ts';
import { DatabaseClock } from '../../src/store/clock/database-clock.ts';
import { Database } from '../../src/store/database/database.ts';
import { stalledNodes } from '../../src/store/nodes/node-lists.ts';
import { PostgresOperationStore } from '../../src/store/operations/writer/operation-store.ts';
import { migrate } from '../../src/store/schema/migrate.ts';
import { needs } from '../parts/debian-packages.ts';
import { type SteppedPostgres, startSteppedPostgres } from '../parts/stepped-postgres.ts';

const faketime = needs('faketime');

const HOUR = 3_600;
const LEASE_MS = 10_000;
const TTLS = { keepaliveSeconds: 300, pendingSeconds: 1_800 };

let postgres: SteppedPostgres;
let database: Database;
let clock: DatabaseClock;
let steps: number[] = [];

function openClock(): Promise<DatabaseClock> {
  return DatabaseClock.open({
    database,
    leaseMs: LEASE_MS,
    ttls: TTLS,
    monotonicNow: () => performance.now(),
    onStep: (stepMs) => steps.push(stepMs),
    watch: {
      passed: () => {},
      failed: (_loop, error) => {
        throw error;
      },
    },
  });
}

/** One row of everything that has a time, written as the product writes it. */
const ROWS = [
  `INSERT INTO machines (machine_id, labels, spec, phase, install)
   SELECT id, '{}', '{}', 'READY', 'installing' FROM unnest(ARRAY['m-1', 'm-2', 'm-3']) AS id`,
  `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract, params,
     steps, started_by, owner, epoch, due_at)
   VALUES ('waiting', 'm-1', 'r', '', 'REBOOT', 'running', 'operation', '{}', '[]', 'alice', NULL, 1, now() + interval '30 s'),
     ('held', 'm-2', 'r', '', 'REBOOT', 'running', 'operation', '{}', '[]', 'alice', 'another', 1, now() + interval '10 s')`,
  `INSERT INTO agents (machine_id, token_hash, token_expires_at)
   VALUES ('m-1', '1', NULL), ('m-2', '2', now() + interval '1800 s'), ('m-3', '3', NULL)`,
  `INSERT INTO agent_presence (machine_id, pool, provider, status, check_at, expires_at)
   VALUES ('m-1', 'p', 'fake', 'ready', now() + interval '200 s', now() + interval '300 s'),
     ('m-2', 'p', 'fake', 'pending', now() + interval '1800 s', now() + interval '1800 s'),
     ('m-3', 'p', 'fake', 'ready', now() - interval '10 s', now() - interval '10 s')`,
  `INSERT INTO nodes (machine_id, mac_address, last_report_at) VALUES ('m-1', '02:00:00:00:00:01', now())`,
  `INSERT INTO boot_tokens (token_hash, machine_id, boot_no, image, expires_at)
   VALUES ('1', 'm-1', 1, 'ubuntu', now() + interval '600 s')`,
  `INSERT INTO machine_looks (machine_id, due_at) VALUES ('m-1', now() + interval '60 s'), ('m-2', '-infinity')`,
  `INSERT INTO upstream_reads (provider, due_at, held_until, started_at, read_at)
   VALUES ('site-a', now() + interval '60 s', now() + interval '120 s', now(), now())`,
  `INSERT INTO presence_watch (watched_at, lenient_until) VALUES (now(), now() + interval '300 s')`,
  `UPDATE metric_sampling SET sampled_at = now(), previous_at = now() - interval '300 s'`,
];

beforeAll(async () => {
  postgres = await startSteppedPostgres();
  await migrate(postgres.url, { version: packageVersion() });
  database = new Database({ url: postgres.url, maxConnections: 4, onIdleError: () => {} });
});

beforeEach(async () => {
  steps = [];
  clock = await openClock();
  for (const row of ROWS) await database.run('', row);
});

afterEach(async () => {
  await database.run(
    '',
    'TRUNCATE machines, machine_looks, operations, operation_logs, upstream_reads, presence_watch, database_clock CASCADE',
  );
  postgres.setOffset(0);
});

afterAll(async () => {
  await database.close();
  await postgres.stop();
});

/** Seconds from now, to the nearest ten: the steps are hours. */
async function secondsLeft(table: string, column: string, where = 'true'): Promise<number> {
  const [row] = await database.run<{ left: number }>(
    '',
    `SELECT extract(epoch FROM ${column} - now())::float8 AS left FROM ${table} WHERE ${where}`,
  );
  return Math.round((row?.left ?? Number.NaN) / 10) * 10 + 0;
}

const waitingIn = () => secondsLeft('operations', 'due_at', `operation_id = 'waiting'`);
const heldFor = () => secondsLeft('operations', 'due_at', `operation_id = 'held'`);
const stalled = () => stalledNodes(database, 900, 10, clock.latest());

describe.skipIf(faketime.isMissing)(faketime.title('an hour back'), () => {
  beforeEach(async () => {
    postgres.setOffset(-HOUR);
    await clock.check();
  });

  it('is measured', () => {
    expect(steps.map((step) => Math.round(step / 1000))).toEqual([-HOUR]);
  });

  it('delays no row', async () => {
    expect(await waitingIn()).toBe(30);
    expect(await heldFor()).toBe(10);
    expect(await secondsLeft('machine_looks', 'due_at', `machine_id = 'm-1'`)).toBe(60);
    const [fresh] = await database.run<{ due: string }>(
      '',
      `SELECT due_at::text AS due FROM machine_looks WHERE machine_id = 'm-2'`,
    );
    expect(fresh?.due).toBe('-infinity');
    expect(await secondsLeft('upstream_reads', 'due_at')).toBe(60);
    expect(await secondsLeft('upstream_reads', 'held_until')).toBe(120);
    expect(await secondsLeft('upstream_reads', 'read_at')).toBe(0);
    expect(await secondsLeft('metric_sampling', 'sampled_at')).toBe(0);
    expect(await secondsLeft('presence_watch', 'lenient_until')).toBe(300);
  });

  it('extends no row beyond its full time to live', async () => {
    expect(await secondsLeft('agent_presence', 'expires_at', `machine_id = 'm-1'`)).toBe(300);
    expect(await secondsLeft('agent_presence', 'check_at', `machine_id = 'm-1'`)).toBe(300);
    expect(await secondsLeft('agent_presence', 'expires_at', `machine_id = 'm-2'`)).toBe(1_800);
    expect(await secondsLeft('agents', 'token_expires_at', `machine_id = 'm-2'`)).toBe(1_800);
    expect(await secondsLeft('boot_tokens', 'expires_at')).toBe(600);
    expect(await secondsLeft('nodes', 'last_report_at')).toBe(0);
  });
});

describe.skipIf(faketime.isMissing)(faketime.title('an hour forward'), () => {
  const store = () => new PostgresOperationStore(database, clock);
  const claim = async () =>
    (await store().claim({ owner: 'this-one', limit: 10, leaseMs: LEASE_MS, deaths: 'counted' })).jobs.map(
      ({ id }) => id,
    );

  it('takes no lease over before it is noticed, nor for a whole lease after', async () => {
    postgres.setOffset(HOUR);
    expect(await claim()).toEqual([]);
    await clock.check();
    expect(steps.map((step) => Math.round(step / 1000))).toEqual([HOUR]);
    expect(await claim()).toEqual([]);
    expect(await heldFor()).toBe(10);
  });

  it('gives a replica that starts meanwhile no lease of one that runs', async () => {
    postgres.setOffset(HOUR);
    const before = clock;
    clock = await openClock();
    expect(await claim()).not.toContain('held');
    await before.check();
    expect(await heldFor()).toBe(10);
  });

  it('ends no wait, no life and no installation early', async () => {
    postgres.setOffset(HOUR);
    expect(await stalled()).toEqual([]);
    await clock.check();
    expect(await waitingIn()).toBe(30);
    expect(await secondsLeft('agent_presence', 'expires_at', `machine_id = 'm-1'`)).toBe(300);
    expect(await secondsLeft('agent_presence', 'expires_at', `machine_id = 'm-2'`)).toBe(1_800);
    expect(await secondsLeft('agents', 'token_expires_at', `machine_id = 'm-2'`)).toBe(1_800);
    expect(await secondsLeft('boot_tokens', 'expires_at')).toBe(600);
    expect(await secondsLeft('presence_watch', 'lenient_until')).toBe(300);
    expect(await stalled()).toEqual([]);
  });

  it('brings no agent back to life', async () => {
    postgres.setOffset(HOUR);
    await clock.check();
    expect(await secondsLeft('agent_presence', 'expires_at', `machine_id = 'm-3'`)).toBe(-HOUR - 10);
  });
});

describe.skipIf(faketime.isMissing)(faketime.title('several replicas'), () => {
  it('deal with a step once, and with the next one once more', async () => {
    const clocks = [clock, await openClock(), await openClock()];
    for (const offset of [-HOUR, HOUR]) {
      postgres.setOffset(offset);
      await Promise.all(clocks.map((each) => each.check()));
      await Promise.all(clocks.map((each) => each.check()));
    }
    expect(steps.map((step) => Math.round(step / 1000))).toEqual([-HOUR, 2 * HOUR]);
    for (const { steppedMs } of clocks) expect(Math.round(steppedMs / 1000)).toBe(HOUR);
    expect(await waitingIn()).toBe(30);
  });

  it('find out at the start that the clock was set back while none of them ran', async () => {
    postgres.setOffset(-2 * HOUR);
    await openClock();
    expect(steps.map((step) => Math.round(step / 1000))).toEqual([-2 * HOUR]);
    expect(await waitingIn()).toBe(30);
  });
});
