/** Which holders count as dead: the rules of src/engine/store-away.test.ts, as statements. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../../test/parts/postgres.ts';
import type { Job } from '../../../engine/job.ts';
import type { DeathCount, ReleaseReason } from '../../../engine/job-store.ts';
import { Database } from '../../database/database.ts';
import { PostgresOperationStore } from './operation-store.ts';

const LEASE_MS = 60_000;
let clone: TestDatabase;
let database: Database;
let store: PostgresOperationStore;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 2, onIdleError: () => {} });
  store = new PostgresOperationStore(database, {
    now: () => new Date(),
    latest: () => new Date(Date.now() + 60_000),
    steppedMs: 0,
  });
  await database.run(
    'insert-machines',
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT 'm-' || n, '{}', '{}', 'READY' FROM generate_series(1, 3) n`,
  );
});
afterAll(async () => {
  await database.close();
  await clone.drop();
});
beforeEach(async () => {
  await database.run('remove-operations', 'DELETE FROM operations');
  await database.run(
    'insert-operation',
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract,
       params, steps, started_by)
     VALUES ('op-1', 'm-1', 'r-1', '', 'REBOOT', 'pending', 'operation', '{}', '[]', 'alice')`,
  );
});

async function row(): Promise<{ owner: string | null; deaths: number; is_due: boolean }> {
  const [found] = await database.run<{ owner: string | null; deaths: number; is_due: boolean }>(
    'read-row',
    'SELECT owner, deaths, due_at <= now() AS is_due FROM operations',
  );
  if (!found) throw new Error('there is no operation');
  return found;
}

/** Also claims a job that another owner holds, as after the end of its lease. */
async function claim(owner: string, deaths: DeathCount = 'counted'): Promise<Job> {
  await database.run('make-due', 'UPDATE operations SET due_at = now()');
  const [job] = (await store.claim({ owner, limit: 1, leaseMs: LEASE_MS, deaths })).jobs;
  if (!job) throw new Error('nothing was claimed');
  return job;
}

const release = ({ id, epoch }: Job, owner: string, why: ReleaseReason) =>
  store.release(owner, [{ id, epoch, why }]);

it('a lease that expired under another owner is a death, under the same owner it is not', async () => {
  await claim('a');
  expect((await claim('a')).deaths).toBe(0);
  expect((await claim('b')).deaths).toBe(1);
});

it('while the store fails the claimer, a lease that expired under another owner is no death', async () => {
  await claim('a');
  expect((await claim('b', 'not_counted')).deaths).toBe(0);
  expect((await claim('a')).deaths).toBe(1);
});

it.each([
  ['stopped', 0],
  ['cut_off', 0],
  ['broken', 1],
] as const)('a release because the holder was %s counts %i deaths', async (why, deaths) => {
  await release(await claim('a'), 'a', why);
  expect(await row()).toEqual({ owner: null, deaths, is_due: true });
});

it('a holder that was cut off takes back the death that another claim counted, and nothing else', async () => {
  const lost = await claim('a');
  const job = await claim('b');
  await release(lost, 'a', 'stopped');
  expect((await row()).deaths).toBe(1);
  await release(lost, 'a', 'cut_off');
  expect(await row()).toEqual({ owner: 'b', deaths: 0, is_due: false });
  // The count that the holder read before does not bring the death back.
  const move = { job: { ...job, status: 'running' as const }, events: [], change: null, releaseForMs: null };
  expect((await store.record('b', move)).recorded).toBe(true);
  expect((await row()).deaths).toBe(0);
  await release(lost, 'a', 'cut_off');
  expect((await row()).deaths).toBe(0);
});

it('releases the leases that an owner does not know of, and neither those that it knows nor those of others', async () => {
  await claim('a');
  await store.releaseAllBut('a', ['op-1']);
  await store.releaseAllBut('b', []);
  expect((await row()).owner).toBe('a');
  await store.releaseAllBut('a', []);
  expect(await row()).toEqual({ owner: null, deaths: 0, is_due: true });
});

it('dropped lines remove the older stored lines of the last part', async () => {
  const { id, epoch } = await claim('a');
  const line = (number: number, tail: boolean) =>
    ({
      id,
      epoch,
      line: number,
      at: new Date(),
      stream: 'stdout',
      step: 's',
      text: String(number),
      tail,
    }) as const;
  const kept = { id, epoch, keepBytes: 1_000 };
  await store.appendLog([line(0, false), line(1, true), line(2, true)], []);
  const omitted = { lines: 4, bytes: 8, before: 7 };
  await store.appendLog([line(7, true), line(8, true)], [{ ...kept, omitted }]);
  const stored = await database.run<{ line: number }>(
    'lines',
    'SELECT line FROM operation_logs ORDER BY line',
  );
  expect(stored.map((found) => found.line)).toEqual([0, 7, 8]);
  expect(await database.run('omissions', 'SELECT lines FROM operation_log_omissions')).toEqual([
    { lines: 6 },
  ]);
});

async function insertMore(): Promise<void> {
  await database.run(
    'insert-more',
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract,
       params, steps, started_by)
     SELECT 'op-' || n, 'm-' || n, 'r-' || n, '', 'REBOOT', 'pending', 'operation', '{}', '[]', 'alice'
     FROM generate_series(2, 3) n`,
  );
}

it('a start that can not be made does not keep the others from being claimed', async () => {
  await insertMore();
  const start = (job: Job) => {
    if (job.id === 'op-1') throw new Error('job op-1 has no step 0');
    return { job: { ...job, status: 'running' as const }, events: [], change: null, releaseForMs: null };
  };
  const { jobs } = await store.claim({ owner: 'a', limit: 3, leaseMs: LEASE_MS, deaths: 'counted', start });
  const held = jobs.map(({ id, status, epoch }) => ({ id, status, epoch }));
  expect(held.toSorted((left, right) => (left.id < right.id ? -1 : 1))).toEqual([
    { id: 'op-1', status: 'pending', epoch: 1 },
    { id: 'op-2', status: 'running', epoch: 1 },
    { id: 'op-3', status: 'running', epoch: 1 },
  ]);
  expect(await database.run('held', 'SELECT operation_id, owner, status FROM operations ORDER BY 1')).toEqual(
    held
      .toSorted((left, right) => (left.id < right.id ? -1 : 1))
      .map(({ id, status }) => ({ operation_id: id, owner: 'a', status })),
  );
});

it('a move that can not be written fails alone', async () => {
  await insertMore();
  const { jobs } = await store.claim({ owner: 'a', limit: 3, leaseMs: LEASE_MS, deaths: 'counted' });
  const records = jobs.map((job) => {
    // JSON has no bigint.
    const error = (job.id === 'op-2' ? { code: 2n } : null) as unknown as Job['error'];
    const moved = { ...job, status: 'running' as const, error };
    return store.record('a', { job: moved, events: [], change: null, releaseForMs: null });
  });
  const results = await Promise.allSettled(records);
  const failed = results.filter(({ status }) => status === 'rejected');
  expect(failed).toMatchObject([{ reason: { message: 'Do not know how to serialize a BigInt' } }]);
  expect(
    await database.run('running', `SELECT operation_id FROM operations WHERE status = 'running' ORDER BY 1`),
  ).toEqual([{ operation_id: 'op-1' }, { operation_id: 'op-3' }]);
});
