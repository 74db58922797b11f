import { sleep } from './sleep.ts';

/** Waits until work is over, whichever way it ends, and no longer than `ms`. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const end = () => over.abort();
  void work.then(end, end);
  await sleep(ms, over.signal);
}
