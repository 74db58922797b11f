import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { readConfiguration } from '../settings/configuration.ts';
import { readSettings, SettingError } from '../settings/settings.ts';
import { WorkerCrew } from './worker-crew.ts';

let folder: string;
let crew: WorkerCrew | null = null;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-test-crew-'));
});
afterEach(() => crew?.stop());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Workers that follow a script instead of serving. */
function startCrew(script: string, workers: number) {
  const exec = join(folder, 'worker.mjs');
  writeFileSync(
    exec,
    `for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
     const say = (message) => process.send(message);
     const told = (kind) => new Promise((resolve) =>
       process.on('message', (message) => message.kind === kind && resolve(message)));
     void told('stop').then(() => process.exit(0));
     ${script}`,
  );
  const logged: string[] = [];
  const failures: Error[] = [];
  crew = new WorkerCrew({
    settings: readSettings({}, { workers: String(workers) }, folder),
    configuration: readConfiguration(null),
    log: pino({ level: 'debug' }, { write: (line: string) => logged.push(line) }),
    onFailed: (error) => failures.push(error),
    exec,
  });
  crew.start();
  const lines = (message: string) =>
    logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith(message));
  return { crew, failures, lines };
}

const SERVE = `const start = told('start'); const prepared = told('prepared');
  say({ kind: 'loaded' }); await start; await prepared; say({ kind: 'serving', ports: {} });`;

it('starts a worker again that dies, under its number', async () => {
  const { crew, failures, lines } = startCrew(SERVE, 2);
  crew.report({ kind: 'prepared', url: 'postgresql://x', postgres: null });
  await crew.allServing;
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
  const { failures, lines } = startCrew('process.exit(3);', 1);
  await vi.waitFor(() => expect(failures).toHaveLength(1), { timeout: 20_000 });
  expect(failures[0]?.message).toMatch(
    /^5 workers in a row ended before they served, the last with exit code 3/,
  );
  expect(lines('a worker died').map(({ restart_ms }) => restart_ms)).toEqual([100, 200, 400, 800]);
});

it('reports the wrong setting that a worker found', async () => {
  const { failures } = startCrew(
    `const start = told('start'); say({ kind: 'loaded' }); await start;
     process.send({ kind: 'refused', message: 'INGOT_PRESENCE_URL: no answer: closed' }, () => process.exit(64));`,
    1,
  );
  await vi.waitFor(() => expect(failures).toHaveLength(1), { timeout: 10_000 });
  expect(failures[0]).toBeInstanceOf(SettingError);
  expect(failures[0]?.message).toBe('INGOT_PRESENCE_URL: no answer: closed');
});
