/** DATABASE_URL names several servers: the one that takes writes is found, and found again. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Database } from '../../src/store/database/database.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { startTestServer } from '../parts/server.ts';

let clone: TestDatabase;
/** The first of its two servers is not there. */
let url: string;

beforeAll(async () => {
  clone = await cloneDatabase();
  const several = new URL(clone.url);
  several.searchParams.set('host', `/nowhere,${several.searchParams.get('host')}`);
  url = several.href;
});

afterAll(() => clone.drop());

const newDatabase = () => new Database({ url, maxConnections: 2, onIdleError: () => {} });

it('a server starts and works on the one that answers', async () => {
  const server = await startTestServer({
    database: { url: clone.url, drop: async () => {} },
    databaseUrl: url,
  });
  try {
    await server.machines.registerMachine({ machine: { machineId: 'several-1' } });
    expect((await server.machines.getMachine({ machineId: 'several-1' })).machineId).toBe('several-1');
    expect((await fetch(`${server.httpUrl}/readyz`)).status).toBe(200);
  } finally {
    await server.stop();
  }
});

it('a server that turns read-only is given up, and used again when it takes writes', async () => {
  const database = newDatabase();
  const name = new URL(clone.url).pathname.slice(1);
  const admin = new Database({ url: clone.url, maxConnections: 1, onIdleError: () => {} });
  try {
    const insert = () => database.run('', 'CREATE TABLE IF NOT EXISTS proof (at timestamptz)');
    await insert();
    await admin.run('', `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    // Those that are connected keep what they had; a demoted server ends them too.
    await admin.run(
      '',
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
      [name],
    );
    await expect(insert()).rejects.toThrow();
    await expect(insert()).rejects.toThrow("none of the database's servers takes writes");
    await admin.run('', 'SET default_transaction_read_only = off');
    await admin.run('', `ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await insert();
  } finally {
    await Promise.all([database.close(), admin.close()]);
  }
});
