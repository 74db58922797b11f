import { afterEach, beforeEach, expect, vi } from 'vitest';
import { setUpFakeTimers } from '../../test/parts/fake-timers.ts';
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
  setUpFakeTimers({ now: START, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  beforeEach(() => {
    store = new MemoryJobStore(Date.now);
    device = new Device();
  });
  afterEach(() => {
    expect(vi.getTimerCount(), 'timers left behind').toBe(0);
  });
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
