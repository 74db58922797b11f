import { afterAll, beforeAll, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { Database } from './database.ts';
import {
  MACHINE_AS_JSON,
  MACHINE_COLUMNS,
  type MachineJson,
  type MachineRow,
  machineOf,
  machineOfJson,
} from './rows.ts';

let clone: TestDatabase;
let database: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 1, onIdleError: () => {} });
  await database.run('', FULL);
  await database.run(
    '',
    `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('bare', '{}', '{}', 'READY')`,
  );
});
afterAll(async () => {
  await database.close();
  await clone.drop();
});

/** A value in each column, each another one than its neighbours'. */
const FULL = `INSERT INTO machines (${MACHINE_COLUMNS}) VALUES ('full', '{"rack": "r\\"1\\u00e9"}',
  '{"provider": "fake", "mac_addresses": ["02:00:00:00:00:01"], "of_a_newer_version": "kept"}', 'MAINTENANCE', 'active', 'installed', 'ready', 'general',
  '{"RMA": {"status": true, "reason": "x", "message": "", "lastTransition": "2026-01-01T00:00:00Z"}}', '{"source": "maas"}',
  '{"reason": "fan"}', '{"model": "m"}', 42, '{"by": "alice"}', NULL, NULL, '2026-11-18 19:33:07.449123+00',
  '2026-11-18 19:33:08+00', '2026-11-18 19:33:09.5+00', '1999-12-31 23:59:59.999999+00', '2026-11-18 19:33:10.000001+00', '2026-11-18 19:33:11+00')`;

async function bothWays(machineId: string, timeZone: string) {
  return database.transaction(async (session) => {
    await session.run('', `SET LOCAL TimeZone TO '${timeZone}'`);
    const from = `FROM machines WHERE machine_id = $1`;
    const [row] = await session.run<MachineRow>('', `SELECT ${MACHINE_COLUMNS} ${from}`, [machineId]);
    const [json] = await session.run<MachineJson>('', `SELECT ${MACHINE_AS_JSON} ${from}`, [machineId]);
    if (!row || !json) throw new Error('there is no such machine');
    return { columns: machineOf(row), json: machineOfJson(json) };
  });
}

it.each([
  ['full', 'UTC'],
  ['bare', 'UTC'],
  ['full', 'Asia/Kolkata'],
])('reads the machine %s from one JSON text as from its columns, in the time zone %s', async (id, zone) => {
  const { columns, json } = await bothWays(id, zone);
  expect(columns.machineId).toBe(id);
  expect(json).toEqual(columns);
  expect(Object.keys(json)).toEqual(Object.keys(columns));
});
