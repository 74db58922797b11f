import { beforeEach, expect, it } from 'vitest';
import { RestingRead } from './resting-read.ts';

let now: number;
let restMs: number;
let reads: number;
let fails: boolean;
let reading: RestingRead<number>;

beforeEach(() => {
  [now, restMs, reads, fails] = [0, 2_000, 0, false];
  reading = new RestingRead({
    monotonicNow: () => now,
    restMs: () => restMs,
    read: async () => {
      if (fails) throw new Error('away');
      reads += 1;
      return reads;
    },
  });
});

it('is made for each caller while it is small', async () => {
  restMs = 0;
  expect([await reading.get(), await reading.get(), await reading.get()]).toEqual([1, 2, 3]);
});

it('serves everyone for a while when it is large', async () => {
  expect(await reading.get()).toBe(1);
  now += 1_999;
  expect(await reading.get()).toBe(1);
  expect(reads).toBe(1);
});

it('is made again after its rest, while the caller has the last result', async () => {
  await reading.get();
  now += 2_000;
  expect(await reading.get()).toBe(1);
  expect(await reading.get()).toBe(2);
  expect(reads).toBe(2);
});

it('is waited for when the last result is old', async () => {
  await reading.get();
  now += 4_000;
  expect(await Promise.all([reading.get(), reading.get()])).toEqual([2, 2]);
});

it('fails only for those who wait for it', async () => {
  await reading.get();
  fails = true;
  now += 2_000;
  expect(await reading.get()).toBe(1);
  now += 4_000;
  await expect(reading.get()).rejects.toThrow('away');
});

it('that has become small again is made for each caller', async () => {
  await reading.get();
  now += 4_000;
  restMs = 0;
  expect([await reading.get(), await reading.get()]).toEqual([2, 3]);
});
