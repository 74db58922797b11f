import { afterAll, beforeAll, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { Database } from '../database/database.ts';
import { watchAgents } from './agent-watch.ts';

let clone: TestDatabase;
let database: Database;
beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 2, onIdleError: () => {} });
});
afterAll(async () => {
  await database.close();
  await clone.drop();
});

const GAP_MS = 5_000;
const TTL_SECONDS = 60;
const watch = () => watchAgents(database, GAP_MS, TTL_SECONDS);

it('watches from the first time on, with no leniency for a gap that never was', async () => {
  expect(await watch()).toBe(0);
  expect(await watch()).toBe(0);
});

it('is lenient for a whole time to live after a gap, and no longer', async () => {
  await database.run('gap', `UPDATE presence_watch SET watched_at = now() - interval '1 minute'`);
  expect(await watch()).toBeGreaterThan((TTL_SECONDS - 10) * 1000);
  await database.run('over', `UPDATE presence_watch SET lenient_until = now() - interval '1 s'`);
  expect(await watch()).toBe(0);
});
