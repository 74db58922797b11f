import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { setUpFakeTimers } from './fake-timers.ts';

/** As a connection that an earlier file has left: it is called from outside of every test. */
let ofEarlierFile: () => void = () => {};
const waiting = new Promise<void>((resolve) => {
  ofEarlierFile = resolve;
});
const fired: string[] = [];
let cleared: NodeJS.Timeout;
const set = waiting.then(() => {
  cleared = setTimeout(() => fired.push('cleared'), 1);
  clearTimeout(cleared);
  return new Promise<void>((resolve) => setTimeout(resolve, 2));
});

setUpFakeTimers({ now: 0 });
beforeEach(() => {
  setTimeout(() => fired.push('of the hook'), 1_000);
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
});

it('holds the clock of the test and of its hooks, and leaves the timers of others as they are', async () => {
  const over = Promise.resolve().then(() => new Promise<void>((resolve) => setTimeout(resolve, 500)));
  ofEarlierFile();
  await set;
  expect([vi.getTimerCount(), Date.now(), fired]).toEqual([2, 0, []]);
  await vi.advanceTimersByTimeAsync(1_000);
  await over;
  expect([Date.now(), fired]).toEqual([1_000, ['of the hook']]);
});

it('ends a timer that the test clears', () => {
  vi.advanceTimersByTime(1_000);
  clearTimeout(setTimeout(() => fired.push('cleared'), 1));
  expect(vi.getTimerCount()).toBe(0);
});
