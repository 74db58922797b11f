import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type SupervisedPostgres, startSupervisedPostgres } from './supervised-postgres.ts';

let base: string;
let server: SupervisedPostgres;
let events: string[];
let started: () => void;

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'ingot-supervised-test-'));
  events = [];
  started = () => {};
  server = await startSupervisedPostgres({
    dataDir: join(base, 'data'),
    ephemeral: true,
    onExit: ({ signal }) => events.push(`exit by ${signal}`),
    onStartFailed: (error) => events.push(String(error)),
    onStarted: () => {
      events.push('started');
      started();
    },
  });
});
afterEach(async () => {
  await server.stop();
  rmSync(base, { recursive: true });
});

async function answer(): Promise<unknown> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query('SELECT 1 AS one')).rows;
  } finally {
    await client.end();
  }
}

test('one that ends by itself runs again, with another process and at the same URL, as often as that happens', async () => {
  const pids = new Set([server.pid]);
  for (let round = 0; round < 2; round += 1) {
    const again = new Promise<void>((resolve) => (started = resolve));
    process.kill(server.pid, 'SIGKILL');
    await again;
    expect(await answer()).toEqual([{ one: 1 }]);
    pids.add(server.pid);
  }
  expect(pids.size).toBe(3);
  expect(events).toEqual(['exit by SIGKILL', 'started', 'exit by SIGKILL', 'started']);
});

test('one that is stopped while it is being started again stays stopped', {
  tags: ['extended'],
}, async () => {
  process.kill(server.pid, 'SIGKILL');
  while (events.length === 0) await sleep(5);
  await server.stop();
  await expect(answer()).rejects.toThrow();
  expect(events[0]).toBe('exit by SIGKILL');
});
