import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { readConfiguration } from '../settings/configuration.ts';
import { readSettings, SettingError } from '../settings/settings.ts';
import { WorkerProcesses } from './worker-processes.ts';

let folder: string;
let processes: WorkerProcesses | null = null;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-test-workers-'));
});
afterEach(() => processes?.stop());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Workers that follow a script instead of serving. */
function startWorkers(script: string, workers: number) {
  const exec = join(folder, 'worker.mjs');
  writeFileSync(
    exec,
    `for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
     const send = (message) => process.send(message);
     const received = (kind) => new Promise((resolve) =>
       process.on('message', (message) => message.kind === kind && resolve(message)));
     void received('stop').then(() => process.exit(0));
     ${script}`,
  );
  const logged: string[] = [];
  const failures: Error[] = [];
  processes = new WorkerProcesses({
    settings: readSettings({}, { workers: String(workers) }, folder),
    configuration: readConfiguration(null),
    log: pino({ level: 'debug' }, { write: (line: string) => logged.push(line) }),
    onFailed: (error) => failures.push(error),
    exec,
  });
  processes.start();
  const lines = (message: string) =>
    logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith(message));
  return { processes, failures, lines };
}

const SERVE = `const start = received('start'); const prepared = received('prepared');
  send({ kind: 'loaded' }); await start; await prepared; send({ kind: 'serving', ports: {} });`;

it('starts a worker again that dies, under its number', async () => {
  const { processes, failures, lines } = startWorkers(SERVE, 2);
  processes.report({ kind: 'prepared', url: 'postgresql://x', postgres: null });
  await processes.allServing;
  const [first] = lines('a worker was started');
  process.kill(first.pid, 'SIGKILL');
  await vi.waitFor(() => expect(lines('a worker was started')).toHaveLength(3), { timeout: 10_000 });
  expect(lines('a worker died')).toEqual([
    expect.objectContaining({ worker: first.worker, pid: first.pid, cause: 'SIGKILL', restart_ms: 100 }),
  ]);
  expect(lines('a worker was started')[2]).toMatchObject({ worker: first.worker });
  expect(failures).toEqual([]);
});

it('gives up when workers keep dying before they serve', async () => {
  const { failures, lines } = startWorkers('process.exit(3);', 1);
  await vi.waitFor(() => expect(failures).toHaveLength(1), { timeout: 20_000 });
  expect(failures[0]?.message).toMatch(
    /^5 workers in a row ended before they served, the last with exit code 3/,
  );
  expect(lines('a worker died').map(({ restart_ms }) => restart_ms)).toEqual([100, 200, 400, 800]);
});

it('reports the wrong setting that a worker found', async () => {
  const { failures } = startWorkers(
    `const start = received('start'); send({ kind: 'loaded' }); await start;
     process.send({ kind: 'refused', message: 'INGOT_PRESENCE_URL: no answer: closed' }, () => process.exit(64));`,
    1,
  );
  await vi.waitFor(() => expect(failures).toHaveLength(1), { timeout: 10_000 });
  expect(failures[0]).toBeInstanceOf(SettingError);
  expect(failures[0]?.message).toBe('INGOT_PRESENCE_URL: no answer: closed');
});
