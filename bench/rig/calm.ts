/**
 * What one part leaves to be done in the background (events to seal, counts to fold, VACUUM) is not for the next one, nor for the other build: a part begins
 * when all servers and their databases rest.
 */
import { sleep } from '../../src/time/sleep.ts';
import { cpuSeconds } from '../processor-time.ts';
import type { Subject } from './subject.ts';

const SAMPLE_MS = 200;
/** Of one processor. A server without calls takes about 2 %, and its database less. */
const CALM = 0.1;
const LONGEST_MS = 20_000;

export async function untilCalm(
  subjects: ReadonlyArray<Pick<Subject, 'server' | 'postgresPid'>>,
): Promise<void> {
  const used = () =>
    subjects.reduce(
      (sum, { server, postgresPid }) =>
        sum + cpuSeconds(server.pid, 'alone') + cpuSeconds(postgresPid, 'with children'),
      0,
    );
  const startedAt = performance.now();
  for (let before = used(); performance.now() - startedAt < LONGEST_MS; ) {
    await sleep(SAMPLE_MS);
    const now = used();
    if (now - before < CALM * subjects.length * (SAMPLE_MS / 1000)) return;
    before = now;
  }
  console.error(`  the servers do not rest: measured beside their work of more than ${LONGEST_MS / 1000} s`);
}
