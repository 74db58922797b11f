import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { cloneDatabase, openPool } from './postgres.ts';

it('a pool outlives the server that ends its connections while it closes', async () => {
  const database = await cloneDatabase();
  const pool = openPool(database.url);
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const pid = rows[0]?.pid ?? 0;
  const closed = new Promise((resolve) => pool.once('remove', resolve));
  // A backend on a busy machine: it learns of the drop before it learns that its client has gone.
  process.kill(pid, 'SIGSTOP');
  await pool.end();
  const dropped = database.drop();
  await sleep(200);
  process.kill(pid, 'SIGCONT');
  await dropped;
  await closed;
  expect(pool.totalCount).toBe(0);
});
