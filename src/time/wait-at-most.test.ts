import { expect, it, vi } from 'vitest';
import { setUpFakeTimers } from '../../test/parts/fake-timers.ts';
import { waitAtMost } from './wait-at-most.ts';

setUpFakeTimers();

it.each([
  ['succeeds', () => Promise.resolve()],
  ['fails', () => Promise.reject(new Error('no'))],
])('ends with work that %s, and leaves no timer', async (_how, work) => {
  await waitAtMost(60_000, work());
  expect(vi.getTimerCount()).toBe(0);
});

it('gives up on work that takes longer', async () => {
  const waited = vi.fn();
  void waitAtMost(1_000, new Promise(() => {})).then(waited);
  await vi.advanceTimersByTimeAsync(999);
  expect(waited).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(waited).toHaveBeenCalledOnce();
});
