/**
 * A replica that did not renew its lease for too long may claim its own operation again. What it had decided before
 * and what it decides now can then meet in one batch of writes; the storm saw events of both.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Job, JobMove } from '../../src/engine/job.ts';
import { Database } from '../../src/store/database/database.ts';
import { PostgresOperationStore } from '../../src/store/operations/writer/operation-store.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';

const OWNER = 'replica-a';
const OPERATION = 'op-1';

let clone: TestDatabase;
let database: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 2, onIdleError: () => {} });
  await database.run(
    'insert-machine',
    `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-1', '{}', '{}', 'READY')`,
  );
  await database.run(
    'insert-operation',
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract,
       params, steps, started_by)
     VALUES ($1, 'm-1', 'r-1', '', 'REBOOT', 'pending', 'operation', '{}', '[]', 'alice')`,
    [OPERATION],
  );
});

afterAll(async () => {
  await database.close();
  await clone.drop();
});

function moveOf(job: Job, comment: string): JobMove<never> {
  const event = { kind: 'operation', subject: 'REBOOT', from: 'pending', to: 'running' } as const;
  return {
    job: { ...job, status: 'running' },
    events: [{ ...event, comment, metadata: {}, actor: null, after: job }],
    change: null,
    releaseForMs: null,
  };
}

it('records only what the later holder decided when both are written in one batch', async () => {
  const store = new PostgresOperationStore(database, {
    now: () => new Date(),
    latest: () => new Date(Date.now() + 60_000),
    steppedMs: 0,
  });
  const claim = async () => {
    await database.run('make-due', 'UPDATE operations SET due_at = now()');
    const [job] = (await store.claim({ owner: OWNER, limit: 1, leaseMs: 60_000, deaths: 'counted' })).jobs;
    if (!job) throw new Error('nothing was claimed');
    return job;
  };
  const earlier = await claim();
  const later = await claim();

  const [stale, fresh] = await Promise.all([
    store.record(OWNER, moveOf(earlier, 'by the earlier holder')),
    store.record(OWNER, moveOf(later, 'by the later holder')),
  ]);

  expect([stale.recorded, fresh.recorded]).toEqual([false, true]);
  const recorded = await database.run<{ comment: string }>(
    'recorded',
    'SELECT comment FROM events WHERE operation_id = $1',
    [OPERATION],
  );
  expect(recorded.map(({ comment }) => comment)).toEqual(['by the later holder']);
});
