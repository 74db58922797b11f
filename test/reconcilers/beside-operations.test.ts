/** Probes and operations on the same machines: neither waits for the other, and the operation's change wins. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConditionReconciler } from '../../src/reconcilers/condition-reconciler.ts';
import { Database } from '../../src/store/database/database.ts';
import { claimProbes, recordProbes } from '../../src/store/machines/machine-probes.ts';
import { conditionOf, fresh, get, newMachine, run, start } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { DOWN, UP, WatchedInspect } from './reconciler-harness.ts';

let server: TestServer;
let database: Database;
let inspect: WatchedInspect;
let reconciler: ConditionReconciler;
let other: pg.Client;
const errors: unknown[] = [];

beforeEach(async () => {
  server = await startTestServer();
  database = new Database({ url: server.database.url, maxConnections: 4, onIdleError: () => {} });
  other = new pg.Client({ connectionString: server.database.url });
  await other.connect();
  inspect = new WatchedInspect();
  reconciler = new ConditionReconciler({
    database,
    providers: new Map([['fake', { name: 'fake', defaultImage: '', capabilities: { inspect } }]]),
    settings: { intervalMs: 100, concurrency: 32, probeTimeoutMs: 1_000, maxMisses: 1 },
    now: () => new Date(),
    monotonicNow: () => performance.now(),
    watch: { passed: () => {}, failed: (_loop, error) => errors.push(error) },
    onError: (error) => errors.push(error),
    onBehind: () => {},
  });
  errors.length = 0;
});
afterEach(async () => {
  await other.end();
  await reconciler.stop(5_000);
  await database.close();
  await server.stop();
});

async function claimOne(machineId: string) {
  await server.sql(
    `INSERT INTO machine_looks VALUES ($1, now()) ON CONFLICT (machine_id) DO UPDATE SET due_at = now()`,
    [machineId],
  );
  const options = { provider: 'fake', limit: 10, intervalMs: 60_000, lateMs: 60_000 };
  const probe = (await claimProbes(database, options)).find(({ machine }) => machine.machineId === machineId);
  if (!probe) throw new Error(`${machineId} was not claimed`);
  return probe;
}

const lost = (at = new Date().toISOString()) => ({
  misses: { host: 1, bmc: 0 },
  conditions: { Reachable: { status: false, reason: 'NoAnswer', message: '', lastTransition: at } },
  events: [],
});

describe('a record of probes', () => {
  it('does not wait for a machine that an operation is writing', async () => {
    const machineId = await newMachine(server);
    const probe = await claimOne(machineId);
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM machines WHERE machine_id = $1 FOR NO KEY UPDATE', [machineId]);
    const startedAt = performance.now();
    expect(await recordProbes(database, [{ probe, ...lost() }])).toEqual(new Set());
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await other.query('ROLLBACK');
    expect(await recordProbes(database, [{ probe, ...lost() }])).toEqual(new Set([machineId]));
  });

  it('that is held up itself holds up no operation', async () => {
    const machineId = await newMachine(server);
    const probe = await claimOne(machineId);
    await other.query('BEGIN');
    await other.query('LOCK TABLE machine_looks IN EXCLUSIVE MODE');
    const held = recordProbes(database, [{ probe, ...lost() }]);
    await until(
      () => server.sql(`SELECT 1 FROM pg_locks WHERE NOT granted`),
      (waiting) => waiting.length > 0,
    );
    const startedAt = performance.now();
    const operation = await run(server, 'ENTER_MAINTENANCE', machineId);
    expect(operation.error).toBeUndefined();
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    await other.query('ROLLBACK');
    // The operation came first, so what was seen before it no longer counts.
    expect(await held).toEqual(new Set());
    expect(conditionOf(await get(server, machineId), 'Reachable')).toBeUndefined();
  });
});

describe('operations while every probe changes every machine', () => {
  it('start and finish, and neither waits for a lock of the other', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => newMachine(server)));
    inspect.answers = () => (Math.random() < 0.5 ? UP : DOWN);
    reconciler.start();
    let sampling = true;
    let longWaits = 0;
    const sampler = (async () => {
      while (sampling) {
        const { rows } = await other.query(
          `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event IN ('tuple', 'transactionid')
           AND clock_timestamp() - query_start > interval '100 ms' AND datname = current_database()`,
        );
        longWaits += rows.length;
        await sleep(5);
      }
    })();
    const startsMs: number[] = [];
    const rounds = Array.from({ length: 6 }, (_, round) => round);
    await Promise.all(
      ids.map(async (machineId) => {
        for (const round of rounds) {
          const type = round % 2 === 0 ? 'ENTER_MAINTENANCE' : 'EXIT_MAINTENANCE';
          const startedAt = performance.now();
          const operation = await start(server, type, machineId, { requestId: fresh('busy') });
          startsMs.push(performance.now() - startedAt);
          await until(
            () => server.operations.getOperation({ operationId: operation.operationId }),
            (seen) => seen.finishedAt !== undefined,
          );
          await sleep(200);
        }
      }),
    );
    sampling = false;
    await sampler;
    expect(startsMs).toHaveLength(120);
    expect(Math.max(...startsMs)).toBeLessThan(2_000);
    expect(longWaits).toBe(0);
    expect(errors).toEqual([]);
    const [recorded] = await server.sql<{ count: string }>(
      `SELECT count(*) FROM events WHERE actor_id = 'reconciler'`,
    );
    // That probes were recorded meanwhile: how many, depends on this host.
    expect(Number(recorded?.count)).toBeGreaterThan(10);
  });
});

describe('an operation that reboots its machine', () => {
  it('keeps it reachable while it is down', async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/step-ms': '1500' } });
    reconciler.start();
    const reachable = async () => conditionOf(await get(server, machineId), 'Reachable')?.status;
    await until(reachable, (status) => status === true);
    const operation = await start(server, 'REBOOT', machineId);
    inspect.answers = () => DOWN;
    const seen = new Set<boolean | undefined>();
    await until(
      async () => {
        const { finishedAt } = await server.operations.getOperation({ operationId: operation.operationId });
        if (finishedAt === undefined) seen.add(await reachable());
        return finishedAt;
      },
      (finishedAt) => finishedAt !== undefined,
    );
    expect([...seen]).toEqual([true]);
    await until(reachable, (status) => status === false);
  });
});
