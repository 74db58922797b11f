import { expect, it, vi } from 'vitest';
import { setUpFakeTimers } from '../../test/parts/fake-timers.ts';
import { sleep } from './sleep.ts';

setUpFakeTimers();

it('returns after the time', async () => {
  let isOver = false;
  const over = sleep(1_000).then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(999);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await over;
});

it('returns at an abort, and leaves no timer and no listener behind', async () => {
  const stop = new AbortController();
  const removed = vi.spyOn(stop.signal, 'removeEventListener');
  const over = sleep(1_000, stop.signal);
  stop.abort();
  await over;
  expect([vi.getTimerCount(), removed.mock.calls.length]).toEqual([0, 1]);
  await sleep(1_000, stop.signal);
  expect(vi.getTimerCount()).toBe(0);
});
