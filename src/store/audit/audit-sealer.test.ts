import { afterAll, beforeAll, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { until } from '../../../test/parts/until.ts';
import { auditKeyOf, newKeyPem } from '../../audit/audit-key.ts';
import type { Checkpoint } from '../../audit/chain.ts';
import { Database } from '../database/database.ts';
import { lastBlock } from './audit-chain.ts';
import { AuditSealer } from './audit-sealer.ts';

let clone: TestDatabase;
let database: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 4, onIdleError: () => {} });
});
afterAll(async () => {
  await database.close();
  await clone.drop();
});

const key = auditKeyOf(newKeyPem());

/** As a file that the workers of one server share. */
let head: Checkpoint | null = null;
const written: number[] = [];

function newSealer(): AuditSealer {
  return new AuditSealer({
    database,
    keys: { current: () => key, reload: () => key, stage: () => key, adopt: () => {} },
    head: {
      read: () => head,
      write: (next) => {
        head = next;
        written.push(next.blockNo);
      },
      setAside: () => {},
      readLost: () => [],
    },
    watch: { passed: () => {}, failed: () => {} },
    now: () => new Date(),
    monotonicNow: () => performance.now(),
    onHeadLost: () => {
      throw new Error('the head is in the chain');
    },
    onKeyReplaced: () => {},
    onKeyRetired: () => {},
  });
}

async function insertEvents(count: number): Promise<void> {
  await database.run(
    'insert-events',
    `INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata)
     SELECT 'pool', 'p', '', 'created', 'system', 'test', '', '{}' FROM generate_series(1, $1)`,
    [count],
  );
}

async function sealedEvents(): Promise<number> {
  return (await lastBlock(database))?.lastEventId ?? 0;
}

it('keeps the head once for all blocks of a pass, and never an earlier one after a later one', async () => {
  const sealers = [newSealer(), newSealer()];
  for (let round = 1; round <= 3; round += 1) {
    await insertEvents(5_500);
    for (const sealer of sealers) {
      sealer.notify();
      if (round === 1) sealer.start();
    }
    await until(async () => (await sealedEvents()) === round * 5_500);
    const last = await lastBlock(database);
    await until(() => head?.blockNo === last?.blockNo);
  }
  await Promise.all(sealers.map((sealer) => sealer.stop()));
  expect(written).toEqual(written.toSorted((left, right) => left - right));
  expect(written.length).toBeLessThan(18);
});
