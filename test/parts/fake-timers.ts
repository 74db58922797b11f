/**
 * Fake timers for what a test itself starts. Files share a worker process, and what an earlier file left sets timers whenever it
 * likes: `fetch` sets that of a connection which it keeps alive only after the answer was read. Those stay real, so that they
 * neither wait for a clock that stands still nor count as left behind.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { aroundEach, vi } from 'vitest';

type FakeTimerOptions = NonNullable<Parameters<typeof vi.useFakeTimers>[0]>;

/** All that a test calls, and all that is called because of it, is in the context of the test. */
const ofTest = new AsyncLocalStorage<true>();

/** For every test of the file, from before its hooks until after them. */
export function setUpFakeTimers(options: FakeTimerOptions = {}): void {
  aroundEach((runTest) =>
    ofTest.run(true, async () => {
      const restore = replaceTimers(options);
      try {
        await runTest();
      } finally {
        restore();
      }
    }),
  );
}

function replaceTimers(options: FakeTimerOptions): () => void {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  vi.useFakeTimers(options);
  const fake = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  const ofOthers = new WeakSet<object>();
  globalThis.setTimeout = ((...given: Parameters<typeof setTimeout>) => {
    if (ofTest.getStore()) return fake.setTimeout(...given);
    const timer = real.setTimeout(...given);
    ofOthers.add(timer);
    return timer;
  }) as typeof setTimeout;
  globalThis.clearTimeout = (timer) => {
    const isReal = !ofTest.getStore() || (typeof timer === 'object' && ofOthers.has(timer));
    (isReal ? real : fake).clearTimeout(timer);
  };
  return () => {
    // Before vi.useRealTimers, which deletes what it does not know.
    Object.assign(globalThis, fake);
    vi.useRealTimers();
  };
}
