import { afterEach, beforeEach, expect, vi } from 'vitest';
import type { StepState } from '../domain/operation/step-state.ts';
import { Device } from './device.fixture.ts';
import { START, sampleJob, sampleStep } from './job.fixture.ts';
import type { Job } from './job.ts';
import { type HandlerSource, type HolderOptions, hold } from './job-holder.fixture.ts';
import { MemoryJobStore, ProcessDeath } from './memory-job-store.fixture.ts';
import type { CrashPoint } from './run-job.ts';

/** What every test of a running job starts with: a store, and a device that the job works on. */
export let store: MemoryJobStore<string>;
export let device: Device;

/** Timers are fake, and the engine may leave none. */
export function setUpJobStore(): void {
  let watched: WatchedTimers;
  beforeEach(() => {
    vi.useFakeTimers({ now: START, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    watched = watchTimersOfEngine();
    store = new MemoryJobStore(Date.now);
    device = new Device();
  });
  afterEach(() => {
    watched.restore();
    vi.useRealTimers();
    expect(watched.left.size, 'timers left behind').toBe(0);
  });
}

interface WatchedTimers {
  readonly left: ReadonlySet<unknown>;
  /** Puts the fake timers back. Before vi.useRealTimers: that deletes what it finds in their place. */
  restore(): void;
}

/**
 * The timers that the engine has set and that have neither fired nor been cleared. Those of others do not count: test files
 * share a process, and a connection that an earlier file left closing sets timers whenever it likes.
 */
function watchTimersOfEngine(): WatchedTimers {
  const left = new Set<unknown>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const setByEngine = (callback: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) => {
    const fire = () => {
      left.delete(timer);
      callback(...given);
    };
    const timer = set(fire, ms);
    if (new Error().stack?.includes('/src/engine/')) left.add(timer);
    return timer;
  };
  globalThis.setTimeout = setByEngine as typeof set;
  globalThis.clearTimeout = ((timer) => {
    left.delete(timer);
    clear(timer);
  }) as typeof clear;
  const restore = () => Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
  return { left, restore };
}

export const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** One holder, from its claim to its release. */
export async function run(
  handler: HandlerSource = device.handler,
  options: HolderOptions = {},
): Promise<void> {
  await (await hold(store, handler, options)).over;
}

/** A process that dies at a point: what it would have done next does not happen. */
export function dyingAt(point: CrashPoint, owner = 'a'): HolderOptions {
  const crashPoint = (reached: CrashPoint) => {
    if (reached !== point) return;
    store.kill(owner);
    throw new ProcessDeath(point);
  };
  return { owner, crashPoint };
}

export const stepStates = (job: Job): StepState[] => job.steps.map(({ state }) => state);
export const started = (fields: Partial<Job> = {}) =>
  sampleJob({
    status: 'running',
    startedAt: START.toISOString(),
    steps: [
      sampleStep({
        state: 'running',
        attempts: 1,
        startedAt: START.toISOString(),
        attemptStartedAt: START.toISOString(),
      }),
    ],
    ...fields,
  });
