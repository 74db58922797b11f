import { expect, test } from 'vitest';
import { Signal } from './signal.ts';

test('a waiter returns at once when it was notified since its count, and waits again after that', async () => {
  const signal = new Signal();
  const stop = new AbortController();
  const waiter = signal.waiter(stop.signal);
  const before = signal.count;
  signal.notify();
  await waiter.wait(before);

  let woken = 0;
  for (let round = 1; round <= 2; round += 1) {
    const waiting = waiter.wait(signal.count).then(() => {
      woken += 1;
    });
    await Promise.resolve();
    expect(woken).toBe(round - 1);
    signal.notify();
    await waiting;
    expect(woken).toBe(round);
  }
  waiter.close();
});

test('a waiter returns after its time, and at the abort, then and later', async () => {
  const signal = new Signal();
  const stop = new AbortController();
  const waiter = signal.waiter(stop.signal);
  await waiter.wait(signal.count, 5);
  const waiting = waiter.wait(signal.count, 60_000);
  stop.abort('stopped');
  await waiting;
  await waiter.wait(signal.count);
  waiter.close();
});
