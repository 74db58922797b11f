/**
 * `npm run test:timing`: what each test file costs of the processors, with the programs that it started and that have ended.
 * The reporter adds it up by folder. PostgreSQL and vitest are not in it: they are what is left of the whole run.
 */
import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

const TICKS_A_SECOND = 100;

function processorSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_A_SECOND;
}

declare module 'vitest' {
  interface TaskMeta {
    processorSeconds?: number;
  }
}

/** A worker's first file pays for what it imports. */
const worker = globalThis as { secondsOfEarlierFiles?: number };

afterAll((_context, { file }) => {
  const now = processorSeconds();
  file.meta.processorSeconds = now - (worker.secondsOfEarlierFiles ?? 0);
  worker.secondsOfEarlierFiles = now;
});
