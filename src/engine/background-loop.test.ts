import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BackgroundLoop } from './background-loop.ts';

const EVERY_MS = 1_000;
let passes: number[];
let heard: string[];
let broken: Error | null;

beforeEach(() => {
  vi.useFakeTimers({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  passes = [];
  heard = [];
  broken = null;
});
afterEach(() => {
  expect(vi.getTimerCount(), 'timers left behind').toBe(0);
  vi.useRealTimers();
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function loopWith(options: { retry?: 'at_interval' } = {}): BackgroundLoop {
  return new BackgroundLoop({
    name: 'counting',
    everyMs: EVERY_MS,
    pass: async () => {
      passes.push(Date.now());
      if (broken) throw broken;
    },
    watch: {
      passed: (loop) => heard.push(`${loop} passed`),
      failed: (loop, error) => heard.push(`${loop}: ${(error as Error).message}`),
    },
    ...options,
  });
}

it('passes at once and then again and again, until it is stopped', async () => {
  const loop = loopWith();
  loop.start();
  await advance(2 * EVERY_MS);
  expect(passes).toEqual([0, 1_000, 2_000]);
  await loop.stop();
  await advance(2 * EVERY_MS);
  expect([passes.length, heard.at(-1)]).toEqual([3, 'counting passed']);
});

it('waits twice as long after each failure, up to five seconds, and is itself again after a pass', async () => {
  broken = new Error('no');
  const loop = loopWith();
  loop.start();
  await advance(60_000);
  const pauses = passes.slice(1).map((at, index) => at - (passes[index] ?? 0));
  pauses.slice(0, 4).forEach((pause, index) => {
    expect(pause).toBeGreaterThanOrEqual(125 * 2 ** index);
    expect(pause).toBeLessThanOrEqual(250 * 2 ** index);
  });
  for (const pause of pauses.slice(5)) expect(pause).toBeLessThanOrEqual(5_000);
  for (const pause of pauses.slice(5)) expect(pause).toBeGreaterThanOrEqual(2_500);
  expect(new Set(heard)).toEqual(new Set(['counting: no']));
  broken = null;
  await advance(5_000);
  const before = passes.length;
  await advance(3 * EVERY_MS);
  expect([passes.length - before, heard.at(-1)]).toEqual([3, 'counting passed']);
  await loop.stop();
});

it('asks another system that fails no more often than one that does not', async () => {
  broken = new Error('no');
  const loop = loopWith({ retry: 'at_interval' });
  loop.start();
  await advance(3 * EVERY_MS);
  expect(passes).toEqual([0, 1_000, 2_000, 3_000]);
  await loop.stop();
});
