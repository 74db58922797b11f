/** Replicas that serve while another one, of a newer version, migrates the schema under them. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { packageVersion } from '../../src/package-root.ts';
import { type MigrationWait, migrate } from '../../src/store/schema/migrate.ts';
import { migrationFolder } from '../parts/migration-folder.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';

const VERSION = packageVersion();
const PATIENCE = { timeout: 20_000, interval: 50 };
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ schemaCheckMs: 50 });
});
afterAll(() => server?.stop());

async function readiness(): Promise<unknown> {
  const response = await fetch(`${server.httpUrl}/readyz`).catch(() => null);
  return response ? { status: response.status, body: await response.json() } : 'the port is closed';
}
const READY = { status: 200, body: { status: 'ready' } };

it('a migration that waits for a long reader blocks no reads and no writes, and completes when the reader ends', async () => {
  await server.machines.registerMachine({ machine: { machineId: 'm-1', spec: {} } });
  const reader = new pg.Client({ connectionString: server.database.url, application_name: 'a long report' });
  await reader.connect();
  let isReading = true;
  onTestFinished(() => (isReading ? reader.end() : undefined));
  await reader.query('BEGIN');
  await reader.query(`SELECT count(*) FROM machines WHERE machine_id <> 'secret-42'`);
  const waits: MigrationWait[] = [];
  const applied: string[] = [];
  const migrated = migrate(server.database.url, {
    version: VERSION,
    folder: migrationFolder({
      '9000-wide.sql': '-- min_version: 0.1.0\nALTER TABLE machines ADD COLUMN wide text;',
    }),
    onApplied: (name) => applied.push(name),
    onWaiting: async (wait) => {
      waits.push(wait);
    },
  });
  // The reader ends only after these: were one of them queued behind the migration, it would never be answered.
  const named = () => waits.find(({ blockers }) => blockers.length > 0);
  for (let n = 0; n < 3 || waits.length < 2 || named() === undefined; n += 1) {
    await server.machines.getMachine({ machineId: 'm-1' });
    await server.machines.registerMachine({ machine: { machineId: `n-${n}`, spec: {} } });
  }
  expect(applied).toEqual([]);
  expect(waits[0]).toMatchObject({ migration: '9000-wide.sql' });
  expect(named()?.blockers.join()).toMatch(
    /^pid \d+ \(a long report, idle in transaction, its transaction is \d+ s old\): SELECT count\(\*\) FROM machines WHERE machine_id <> \?$/,
  );
  await reader.query('COMMIT');
  isReading = false;
  await reader.end();
  await migrated;
  expect(applied).toEqual(['9000-wide.sql']);
  expect(await readiness()).toEqual(READY);
});

it('a replica turns not ready and stops working when the schema needs a newer version, and comes back', async () => {
  await migrate(server.database.url, {
    version: '99.0.0',
    folder: migrationFolder({
      '9000-wide.sql': '-- min_version: 0.1.0\nALTER TABLE machines ADD COLUMN wide text;',
      '9001-break.sql': '-- min_version: 99.0.0\nSELECT 1;',
    }),
  });
  const reason =
    "the database's schema is newer than this Ingot: it has migration 9001-break.sql, which needs Ingot 99.0.0 or later " +
    `(min_version); this is ${VERSION}. Start a newer version here`;
  await vi.waitFor(
    async () => expect(await readiness()).toEqual({ status: 503, body: { status: 'not ready', reason } }),
    PATIENCE,
  );
  // Its work is handed over first; then the port answers again, and there is no API behind it.
  await vi.waitFor(async () => expect((await fetch(`${server.httpUrl}/nodes`)).status).toBe(503), PATIENCE);
  expect(await (await fetch(`${server.httpUrl}/healthz`)).json()).toEqual({ status: 'ok' });
  expect(await readiness()).toEqual({ status: 503, body: { status: 'not ready', reason } });
  expect((await refusal(server.machines.getMachine({ machineId: 'm-1' }))).code).toBe('UNAVAILABLE');
  expect(server.logged.join('')).toContain('the schema was changed; this replica stops its work');
  await server.sql(`DELETE FROM schema_migrations WHERE name = '9001-break.sql'`);
  await vi.waitFor(async () => expect(await readiness()).toEqual(READY), PATIENCE);
  const machine = await vi.waitFor(() => server.machines.getMachine({ machineId: 'm-1' }), PATIENCE);
  expect(machine.machineId).toBe('m-1');
});
