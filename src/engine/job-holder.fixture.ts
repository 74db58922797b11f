/** One process that runs jobs of a MemoryJobStore, for tests that hold the clock (vi.useFakeTimers). */
import type { Job } from './job.ts';
import { JobLog, LogWriter } from './job-log.ts';
import { Lease } from './lease.ts';
import type { MemoryJobStore } from './memory-job-store.fixture.ts';
import { PassSlots } from './pass-slots.ts';
import { type CrashPoint, type JobDependencies, runJob } from './run-job.ts';
import { Interrupted } from './run-step.ts';
import type { StepHandler } from './step-handler.ts';

export const LEASE_MS = 10_000;
export const MAX_DEATHS = 3;

export interface HolderOptions {
  readonly owner?: string;
  readonly canUndo?: (kind: string) => boolean;
  readonly crashPoint?: (point: CrashPoint, job: Job) => void;
  readonly maxLogBytes?: number;
}

export type HandlerSource = StepHandler<string> | ((job: Job) => Promise<StepHandler<string>>);

export interface Holding {
  readonly job: Job;
  readonly lease: Lease;
  readonly over: Promise<number | null>;
  /** What the step threw that is no failure of a step: a defect. */
  readonly unexpected: unknown[];
  /** Notifies the holder that its job was canceled. */
  cancel(): void;
  handOver(): void;
}

export function toolsFor(
  store: MemoryJobStore<string>,
  handler: HandlerSource,
  options: HolderOptions & { readonly onUnexpected: (error: unknown) => void },
): JobDependencies<string> {
  return {
    owner: options.owner ?? 'a',
    store,
    rules: {
      backoff: { firstMs: 1_000, maxMs: 60_000 },
      maxUndoRetries: 1,
      maxDeaths: MAX_DEATHS,
      canUndo: (step) => options.canUndo?.(step.kind) ?? false,
      onEnd: (job) => `end: ${job.status}`,
      merge: (first, second) => `${first}; ${second}`,
    },
    isInstant: (step) => step.kind === 'instant',
    handlerFor: async (job) => (typeof handler === 'function' ? handler(job) : handler),
    slots: new PassSlots(1, 0, () => performance.now()),
    now: () => new Date(),
    random: () => 0,
    onUnexpected: options.onUnexpected,
    crashPoint: options.crashPoint ?? (() => {}),
  };
}

/** Claims the one job that is due and runs it until it is released. */
export async function hold(
  store: MemoryJobStore<string>,
  handler: HandlerSource,
  options: HolderOptions = {},
): Promise<Holding> {
  const owner = options.owner ?? 'a';
  const askedAt = performance.now();
  const { jobs } = await store.claim({ owner, limit: 1, leaseMs: LEASE_MS, deaths: 'counted' });
  const [job] = jobs;
  if (!job) throw new Error('no job is due');
  const cancel = new AbortController();
  const stop = new AbortController();
  const unexpected: unknown[] = [];
  const lease = new Lease(job.id, job.epoch, askedAt, LEASE_MS, () => performance.now());
  const writer = new LogWriter(store, (error) => unexpected.push(error));
  const log = new JobLog(writer, job, { maxBytes: options.maxLogBytes ?? 1_000, now: () => new Date() });
  const control = { lease, log, stop: cancel.signal, uncancelable: () => stop.signal };
  const dependencies = toolsFor(store, handler, {
    ...options,
    onUnexpected: (error) => unexpected.push(error),
  });
  const over = runJob(job, control, dependencies);
  over.catch(() => {});
  return {
    job,
    lease,
    over,
    unexpected,
    cancel: () => cancel.abort(new Interrupted('cancel')),
    handOver: () => {
      for (const each of [stop, cancel]) each.abort(new Interrupted('handover'));
    },
  };
}
