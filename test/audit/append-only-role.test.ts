/** A server whose database role can only append to the event log works as any other, and can't change what happened. */
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { APPEND_ONLY_ROLE, APPEND_ONLY_TABLES, appendOnlySql } from '../../src/audit/append-only-sql.ts';
import { asRole, WRITER } from '../../src/store/embedded/roles.ts';
import { ended, newMachine, start } from '../api/fleet.ts';
import { createNode } from '../nodes/rest.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

let database: TestDatabase;
let server: TestServer;
let writer: pg.Client;

beforeAll(async () => {
  database = await cloneDatabase();
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  await owner.query(appendOnlySql(WRITER));
  await owner.end();
  const databaseUrl = asRole(database.url, WRITER);
  server = await startTestServer({ database, databaseUrl, metricSampleSeconds: 1 });
  writer = new pg.Client({ connectionString: databaseUrl });
  await writer.connect();
});
afterAll(async () => {
  await writer?.end();
  await server?.stop();
  await database?.drop();
});

test('it serves: machines, operations, nodes, tokens', async () => {
  expect(WRITER).toBe(APPEND_ONLY_ROLE);
  const machineId = await newMachine(server, { phase: 'READY' });
  await ended(server, await start(server, 'REBOOT', machineId));
  await createNode(server);
  await server.admin.createToken({ name: 'one', role: 'viewer' });
  await server.admin.revokeToken({ name: 'one' });
  expect(server.logged.join('')).toContain('the database role can only append to them');
});

test.each(APPEND_ONLY_TABLES)('it can add to %s and not change, remove or empty it', async (table) => {
  for (const statement of [
    `UPDATE ${table} SET ${table === 'events' ? 'comment' : 'signature'} = 'x'`.replace(
      'audit_blocks SET signature',
      'audit_blocks SET hash',
    ),
    `DELETE FROM ${table}`,
    `TRUNCATE ${table}`,
    `DROP TABLE ${table}`,
    `ALTER TABLE ${table} ADD COLUMN x text`,
  ])
    await expect(writer.query(statement), statement).rejects.toMatchObject({ code: '42501' });
  await expect(writer.query(`SELECT count(*) FROM ${table}`)).resolves.toBeDefined();
});
