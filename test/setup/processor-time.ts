/**
 * `npm run test:timing`: what each test file costs of the processors, with the programs that it started and that have ended.
 * The reporter adds it up by folder. PostgreSQL and vitest are not in it: they are what is left of the whole run.
 */
import { existsSync, readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

const TICKS_A_SECOND = 100;

/** Only Linux counts the programs that have ended. */
function processorSeconds(): number {
  if (!existsSync('/proc/self/stat')) return 0;
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

// biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures out of the first parameter.
afterAll(({}, { file }) => {
  const now = processorSeconds();
  file.meta.processorSeconds = now - (worker.secondsOfEarlierFiles ?? 0);
  worker.secondsOfEarlierFiles = now;
});
