import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { setUpFakeTimers } from '../../test/parts/fake-timers.ts';
import { BackgroundLoop, type LoopOptions, type PassResult } from './repeat-until-stopped.ts';
import { Signal } from './signal.ts';

const EVERY_MS = 1_000;
let passes: number[];
let reported: string[];
let broken: Error | null;
let result: PassResult;

setUpFakeTimers({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'Date'] });
beforeEach(() => {
  passes = [];
  reported = [];
  broken = null;
  result = 'passed';
});
afterEach(() => {
  expect(vi.getTimerCount(), 'timers left behind').toBe(0);
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function loopWith(options: Partial<LoopOptions> = {}): BackgroundLoop {
  return new BackgroundLoop({
    name: 'counting',
    everyMs: EVERY_MS,
    pass: async () => {
      passes.push(Date.now());
      if (broken) throw broken;
      return result;
    },
    watch: {
      passed: (loop) => reported.push(`${loop} passed`),
      failed: (loop, error) => reported.push(`${loop}: ${(error as Error).message}`),
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
  expect([passes.length, reported.at(-1)]).toEqual([3, 'counting passed']);
});

it('waits twice as long after each failure, up to five seconds, and returns to its interval after a pass', async () => {
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
  expect(new Set(reported)).toEqual(new Set(['counting: no']));
  broken = null;
  await advance(5_000);
  const before = passes.length;
  await advance(3 * EVERY_MS);
  expect([passes.length - before, reported.at(-1)]).toEqual([3, 'counting passed']);
  await loop.stop();
});

it('calls another system no more often because it fails', async () => {
  broken = new Error('no');
  const loop = loopWith({ retry: 'at_interval' });
  loop.start();
  await advance(3 * EVERY_MS);
  expect(passes).toEqual([0, 1_000, 2_000, 3_000]);
  await loop.stop();
});

it('repeats a failed pass no later than the next one is due, where that is asked for', async () => {
  broken = new Error('no');
  const loop = loopWith({ retry: 'within_interval', everyMs: 300, random: () => 0.999 });
  loop.start();
  await advance(1_150);
  expect(passes).toEqual([0, 250, 550, 850, 1_150]);
  await loop.stop();
});

it('waits as long as the pass says', async () => {
  result = { nextInMs: 400 };
  const loop = loopWith();
  loop.start();
  await advance(800);
  expect(passes).toEqual([0, 400, 800]);
  await loop.stop();
});

it('reports nothing of a pass that had nothing to do', async () => {
  result = 'idle';
  const loop = loopWith();
  loop.start();
  await advance(EVERY_MS);
  expect([passes.length, reported]).toEqual([2, []]);
  await loop.stop();
});

it('passes again at once when it is woken, also by what came during a pass, but not in the pause after a failure', async () => {
  const wake = new Signal();
  const loop = loopWith({ wake });
  loop.start();
  wake.notify();
  await advance(0);
  expect(passes).toEqual([0, 0]);
  await advance(100);
  broken = new Error('no');
  wake.notify();
  await advance(0);
  wake.notify();
  await advance(100);
  expect(passes).toEqual([0, 0, 100]);
  await loop.stop();
});
