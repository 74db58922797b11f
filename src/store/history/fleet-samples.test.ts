import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, openPool, type TestDatabase } from '../../../test/parts/postgres.ts';
import { Database } from '../database/database.ts';
import { sampleFleet } from './fleet-samples.ts';

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

const insert = (machineId: string, phase: string) =>
  sql.query(
    `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ($1, '{}', '{"provider": "fake"}', $2)`,
    [machineId, phase],
  );
const samples = async () =>
  (await sql.query('SELECT state, machines FROM fleet_samples ORDER BY at, state')).rows;

test('one replica samples the fleet in each five minutes, and old samples go', async () => {
  await insert('a', 'READY');
  await insert('b', 'MAINTENANCE');
  await sql.query(`INSERT INTO fleet_samples VALUES (now() - interval '9 days', 'IDLE', 5)`);
  await Promise.all([sampleFleet(database), sampleFleet(database)]);
  const first = [
    { state: 'IDLE', machines: 1 },
    { state: 'MAINTENANCE', machines: 1 },
  ];
  expect(await samples()).toEqual(first);
  // The time of the samples goes back five minutes: the next ones are due.
  await insert('c', 'READY');
  await sql.query(`UPDATE fleet_samples SET at = at - interval '5 minutes'`);
  await sampleFleet(database);
  expect(await samples()).toEqual([
    ...first,
    { state: 'IDLE', machines: 2 },
    { state: 'MAINTENANCE', machines: 1 },
  ]);
});
