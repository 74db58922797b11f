import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isActive } from '../domain/operation/operation-status.ts';
import type { StepState } from '../domain/operation/step-state.ts';
import { Device, forever, untilStopped } from './device.fixture.ts';
import { CANCEL, START, sampleJob, sampleStep } from './job.fixture.ts';
import type { Job } from './job.ts';
import { type HandlerSource, type HolderOptions, hold, LEASE_MS, MAX_DEATHS } from './job-holder.fixture.ts';
import { LeaseLost } from './lease.ts';
import { MemoryJobStore, ProcessDeath } from './memory-job-store.fixture.ts';
import type { CrashPoint } from './run-job.ts';
import { StepFailure, type StepHandler } from './step-handler.ts';

let store: MemoryJobStore<string>;
let device: Device;

beforeEach(() => {
  vi.useFakeTimers({ now: START, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  store = new MemoryJobStore(Date.now);
  device = new Device();
});
afterEach(() => {
  expect(vi.getTimerCount(), 'timers left behind').toBe(0);
  vi.useRealTimers();
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** One holder, from its claim to its release. */
async function run(handler: HandlerSource = device.handler, options: HolderOptions = {}): Promise<void> {
  await (await hold(store, handler, options)).over;
}

/** A process that dies at a point: what it would have done next does not happen. */
function dyingAt(point: CrashPoint, owner = 'a'): HolderOptions {
  const crashPoint = (reached: CrashPoint) => {
    if (reached !== point) return;
    store.kill(owner);
    throw new ProcessDeath(point);
  };
  return { owner, crashPoint };
}

const stepStates = (job: Job): StepState[] => job.steps.map(({ state }) => state);
const started = (fields: Partial<Job> = {}) =>
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

describe('a pass over a step', () => {
  it('probes, acts where nothing is found, and probes again', async () => {
    store.add(sampleJob());
    await run();
    expect(device.trace).toEqual(['observe', 'act', 'observe']);
    expect(store.job().status).toBe('completed');
    expect(store.changes).toEqual(['end: completed']);
    expect(store.ownerOf()).toBeNull();
  });

  it('probes again at once when a signal came between its probe and its own write', async () => {
    store.add(sampleJob());
    await run({
      ...device.handler,
      async observe(context) {
        store.signal();
        await context.save({ percent: 1 });
        return { seen: 'under_way', reason: 'writing', pollAfterMs: 15_000 };
      },
    });
    expect(store.dueInMs()).toBe(0);
  });

  it('does not act when the work is done already', async () => {
    store.add(sampleJob());
    device.effects = 1;
    await run();
    expect(device.trace).toEqual(['observe']);
    expect(store.job().status).toBe('completed');
  });

  it('does not act while the work is under way, and waits as a row', async () => {
    store.add(sampleJob());
    await run({
      ...device.handler,
      observe: async () => ({ seen: 'under_way', reason: 'it boots', pollAfterMs: 700, progress: 40 }),
    });
    expect(device.effects).toBe(0);
    expect(store.job()).toMatchObject({ status: 'running', waitingFor: 'it boots' });
    expect(store.job().steps[0]?.progress).toBe(40);
    expect([store.ownerOf(), store.dueInMs()]).toEqual([null, 700]);
  });

  it('releases a job whose work is under way even when the next probe is due at once', async () => {
    store.add(sampleJob());
    const observe = vi.fn(async () => ({ seen: 'under_way', reason: 'it boots', pollAfterMs: 0 }) as const);
    await run({ ...device.handler, observe });
    expect(observe).toHaveBeenCalledOnce();
    expect(store.ownerOf()).toBeNull();
    expect(store.dueInMs()).toBeGreaterThan(0);
  });

  it('does not act over and over when its effect can’t be seen', async () => {
    store.add(sampleJob());
    await run({ ...device.handler, observe: async () => ({ seen: 'absent' }) });
    expect(device.effects).toBe(1);
    expect(store.ownerOf()).toBeNull();
    expect(store.dueInMs()).toBe(1_000);
  });

  it('fails with what was seen to have failed', async () => {
    store.add(started({ steps: [{ ...started().steps[0], maxRetries: 0 } as Job['steps'][number]] }));
    const failure = { class: 'retryable', code: 'EXECUTION_FAILED', message: 'I/O error' } as const;
    await run({ ...device.handler, observe: async () => ({ seen: 'failed', failure, change: 'wiped' }) });
    expect(store.job().error).toMatchObject({ code: 'EXECUTION_FAILED', message: 'I/O error', attempts: 1 });
    expect(store.changes).toEqual(['wiped; end: failed_retryable']);
  });

  it('of an instant kind writes its start together with its end', async () => {
    store.add(sampleJob({ steps: [sampleStep({ kind: 'instant' })] }));
    device.effects = 1;
    await run();
    expect(store.writes).toEqual(['completed succeeded']);
    expect(store.events.map(({ kind, to }) => `${kind} ${to}`)).toEqual([
      'operation running',
      'step running',
      'step succeeded',
      'operation completed',
    ]);
  });

  it('goes through all the steps under one lease', async () => {
    store.add(sampleJob({ steps: [sampleStep({ name: 'one' }), sampleStep({ name: 'two' })] }));
    await run();
    expect(stepStates(store.job())).toEqual(['succeeded', 'succeeded']);
    expect(store.job().epoch).toBe(1);
  });
});

describe('after a crash', () => {
  it.each(['after_claim', 'before_effect', 'after_effect', 'before_commit'] as const)(
    'at %s another holder goes on, and the effect happens once',
    async (point) => {
      store.add(sampleJob());
      await expect(run(device.handler, dyingAt(point))).rejects.toThrow(ProcessDeath);
      expect(store.job().status).toBe(point === 'after_claim' ? 'pending' : 'running');
      await advance(LEASE_MS);
      await run(device.handler, { owner: 'b' });
      expect(store.job()).toMatchObject({ status: 'completed', epoch: 2 });
      expect(store.job().steps[0]?.attempts).toBe(1);
      expect(device.effects).toBe(1);
    },
  );

  it('between the effect and its record, the next holder sees that it is done and does not act', async () => {
    store.add(sampleJob());
    await expect(run(device.handler, dyingAt('after_effect'))).rejects.toThrow();
    await advance(LEASE_MS);
    device.trace.length = 0;
    await run(device.handler, { owner: 'b' });
    expect(device.trace).toEqual(['observe']);
  });

  it('no other holder claims the job before the lease ends', async () => {
    store.add(sampleJob());
    await expect(run(device.handler, dyingAt('before_commit'))).rejects.toThrow();
    await advance(LEASE_MS - 1);
    await expect(run(device.handler, { owner: 'b' })).rejects.toThrow('no job is due');
  });

  it('too often, the job is parked and the step is not tried again', async () => {
    store.add(sampleJob());
    for (let death = 0; death < MAX_DEATHS; death += 1) {
      await expect(run(device.handler, dyingAt('before_effect', `a${death}`))).rejects.toThrow(ProcessDeath);
      await advance(LEASE_MS);
    }
    device.trace.length = 0;
    await run(device.handler, { owner: 'b' });
    expect(store.job()).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'HOLDER_DIED_REPEATEDLY', failureClass: 'needs_human' },
    });
    expect([device.trace, device.effects]).toEqual([[], 0]);
  });
});

describe('the fence', () => {
  it('stops a holder whose lease another one has: nothing of it is written', async () => {
    store.add(sampleJob());
    let wake = () => {};
    device.whileProbing = () => new Promise<void>((resolve) => (wake = resolve));
    const zombie = await hold(store, device.handler);
    await advance(LEASE_MS);
    device.whileProbing = () => {};
    await run(device.handler, { owner: 'b' });
    const after = { job: store.job(), events: store.events.length, writes: store.writes.length };
    wake();
    await expect(zombie.over).rejects.toThrow(LeaseLost);
    expect({ job: store.job(), events: store.events.length, writes: store.writes.length }).toEqual(after);
    expect(device.effects).toBe(1);
    expect(zombie.unexpected).toEqual([]);
  });

  it('gives each holder a larger number to show to devices', async () => {
    store.add(sampleJob());
    const fences: number[] = [];
    device.whileProbing = ({ fence }) => void fences.push(fence);
    await expect(run(device.handler, dyingAt('after_effect'))).rejects.toThrow();
    await advance(LEASE_MS);
    await run(device.handler, { owner: 'b' });
    expect(fences).toEqual([1, 2]);
  });

  it('lets no effect start near the end of a lease that was not renewed', async () => {
    store.add(sampleJob());
    let wake = () => {};
    device.whileProbing = () => new Promise<void>((resolve) => (wake = resolve));
    const late = await hold(store, device.handler);
    await advance(LEASE_MS * 0.8);
    wake();
    await expect(late.over).rejects.toThrow(LeaseLost);
    expect([device.trace, device.effects]).toEqual([['observe', 'act'], 0]);
    expect(store.ownerOf()).toBe('a');
  });

  it('lets nothing be remembered near the end of it either', async () => {
    store.add(sampleJob());
    const late = await hold(store, {
      ...device.handler,
      act: async (context) => {
        await advance(LEASE_MS * 0.8);
        await context.save({ a: 1 });
        return { result: 'done', message: '' };
      },
    });
    await expect(late.over).rejects.toThrow(LeaseLost);
    expect(store.job().steps[0]?.memo).toEqual({});
  });
});

describe('what a step remembers', () => {
  const remembering = (seen: unknown[]): StepHandler<string> => ({
    ...device.handler,
    act: async (context) => {
      await context.save({ before: 7 });
      seen.push(store.job().steps[0]?.memo, context.memo);
      return device.handler.act(context);
    },
  });

  it('is stored before the effect that it prepares for', async () => {
    store.add(sampleJob());
    const seen: unknown[] = [];
    await run(remembering(seen));
    expect(seen).toEqual([{ before: 7 }, { before: 7 }]);
    expect(store.job().status).toBe('completed');
  });

  it('is there for the holder that goes on', async () => {
    store.add(sampleJob());
    await expect(run(remembering([]), dyingAt('before_effect'))).rejects.toThrow();
    await advance(LEASE_MS);
    let memo: unknown;
    device.whileProbing = (context) => {
      memo ??= context.memo;
    };
    await run(device.handler, { owner: 'b' });
    expect(memo).toEqual({ before: 7 });
  });
});

describe('a time-out', () => {
  it('stops the attempt and counts it', async () => {
    store.add(sampleJob());
    device.whileActing = untilStopped;
    const slow = await hold(store, device.handler);
    slow.lease.renewed(performance.now(), 1_000_000);
    await advance(60_000);
    await slow.over;
    expect(store.job()).toMatchObject({
      status: 'running',
      waitingFor: 'next attempt after: not done within 60 s',
    });
    expect(store.job().steps[0]).toMatchObject({ attempts: 1, attemptStartedAt: null });
    expect(store.dueInMs()).toBe(500);
    await advance(500);
    device.whileActing = () => {};
    await run(device.handler, { owner: 'b' });
    expect(store.job().status).toBe('completed');
    expect(store.job().steps[0]?.attempts).toBe(2);
  });

  it('ends the job when it was the last attempt', async () => {
    store.add(started({ steps: [sampleStep({ ...started().steps[0], attempts: 2 })] }));
    device.whileActing = untilStopped;
    const slow = await hold(store, device.handler);
    slow.lease.renewed(performance.now(), 1_000_000);
    await advance(60_000);
    await slow.over;
    expect(store.job()).toMatchObject({
      status: 'failed_retryable',
      error: { code: 'TIMED_OUT', attempts: 2 },
    });
  });

  it('does not keep an overdue attempt from probing once, so that a late success counts', async () => {
    store.add(started());
    device.effects = 1;
    await advance(61_000);
    await run();
    expect(store.job().status).toBe('completed');
  });

  it('keeps an overdue attempt from acting', async () => {
    store.add(started());
    await advance(61_000);
    await run();
    expect(device.trace).toEqual(['observe']);
    expect(store.job().waitingFor).toBe('next attempt after: not done within 60 s');
  });

  it('strikes work that is still under way', async () => {
    store.add(started());
    await advance(61_000);
    await run({
      ...device.handler,
      observe: async () => ({ seen: 'under_way', reason: 'it boots', pollAfterMs: 10 }),
    });
    expect(store.job().waitingFor).toBe('next attempt after: not done within 60 s');
  });

  it('gives an overdue attempt less than a second for its last probe', async () => {
    store.add(started());
    await advance(60_000);
    const slow = await hold(store, { ...device.handler, observe: untilStopped });
    await advance(399);
    expect(store.ownerOf()).toBe('a');
    await advance(1);
    await slow.over;
    expect(store.job().waitingFor).toBe('next attempt after: not done within 60 s');
  });

  it('cuts a wait to the limit: it is probed at the limit once more, and not later', async () => {
    store.add(sampleJob({ steps: [sampleStep({ timeoutSeconds: 1 })] }));
    const waiting: StepHandler<string> = {
      ...device.handler,
      observe: async () => ({ seen: 'under_way', reason: 'it boots', pollAfterMs: 60_000 }),
    };
    await run(waiting);
    expect(store.dueInMs()).toBe(1_000);
    await advance(1_000);
    await run(waiting);
    expect(store.job().waitingFor).toBe('next attempt after: not done within 1 s (it boots)');
  });

  it('cuts the waits of an undo to its limit too', async () => {
    store.add(started({ cancel: CANCEL, steps: [sampleStep({ ...started().steps[0], timeoutSeconds: 2 })] }));
    const undo = async () => ({ result: 'started', reason: 'it goes down', pollAfterMs: 60_000 }) as const;
    await run({ ...device.handler, undo }, { canUndo: () => true });
    expect(store.job().status).toBe('compensating');
    expect(store.dueInMs()).toBe(2_000);
    await advance(2_000);
    await run({ ...device.handler, undo }, { canUndo: () => true });
    expect(store.job().waitingFor).toBe('next attempt after: not done within 2 s (it goes down)');
  });

  it('ends the attempt within a second although the probe does not return', async () => {
    store.add(sampleJob({ steps: [sampleStep({ timeoutSeconds: 1 })] }));
    device.whileProbing = forever;
    const deaf = await hold(store, device.handler);
    await advance(1_999);
    await deaf.over;
    expect(store.job()).toMatchObject({
      status: 'running',
      waitingFor: 'next attempt after: not done within 1 s',
    });
  });
});

describe('a handler that does not stop when it is aborted', () => {
  it.each([
    ['cancel', 5_000],
    ['timeout', 800],
  ] as const)('parks the job after a %s: its effect is not known', async (why, graceMs) => {
    store.add(sampleJob());
    device.whileActing = forever;
    const stuck = await hold(store, device.handler);
    stuck.lease.renewed(performance.now(), 1_000_000);
    await advance(why === 'timeout' ? 60_000 : 1);
    expect(device.trace).toEqual(['observe', 'act']);
    if (why === 'cancel') {
      store.cancel('job-1', CANCEL);
      stuck.cancel();
    }
    await advance(graceMs - 1);
    expect(store.job().status).toBe('running');
    await advance(1);
    await stuck.over;
    expect(store.job()).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'DID_NOT_STOP', failureClass: 'effect_unknown', retryable: false },
    });
  });
});

describe('a probe that does not stop when it is aborted', () => {
  it('does not keep a cancel from ending: nothing was started', async () => {
    store.add(sampleJob());
    device.whileProbing = forever;
    const deaf = await hold(store, device.handler);
    deaf.lease.renewed(performance.now(), 1_000_000);
    await advance(1);
    store.cancel('job-1', CANCEL);
    deaf.cancel();
    await advance(5_000);
    await deaf.over;
    expect(store.job().status).toBe('cancelled');
  });
});

describe('a cancel', () => {
  const undoable: HolderOptions = { canUndo: () => true };

  async function cancelWhileActing(options: HolderOptions): Promise<void> {
    store.add(sampleJob());
    device.whileActing = untilStopped;
    const busy = await hold(store, device.handler, options);
    await advance(1);
    expect(device.trace).toEqual(['observe', 'act']);
    store.cancel('job-1', CANCEL);
    busy.cancel();
    await busy.over;
  }

  it('stops the step and undoes it', async () => {
    await cancelWhileActing(undoable);
    expect(device.trace).toEqual(['observe', 'act', 'undo']);
    expect(store.job().status).toBe('cancelled');
    expect(stepStates(store.job())).toEqual(['undone']);
    const ends = store.events
      .filter(({ kind }) => kind === 'operation')
      .map(({ to, actor }) => [to, actor?.id]);
    expect(ends).toEqual([
      ['running', undefined],
      ['compensating', 'ann'],
      ['cancelled', 'ann'],
    ]);
  });

  it('ends a job at once whose steps can’t be undone', async () => {
    await cancelWhileActing({});
    expect(device.trace).toEqual(['observe', 'act']);
    expect(store.job().status).toBe('cancelled');
    expect(store.job().steps[0]).toMatchObject({ state: 'failed', message: 'canceled' });
  });

  it('that the holder was not notified of is returned by its next write', async () => {
    store.add(sampleJob({ steps: [sampleStep({ name: 'one' }), sampleStep({ name: 'two' })] }));
    device.whileActing = () => store.cancel('job-1', CANCEL);
    await run(device.handler, undoable);
    expect(device.trace).toEqual(['observe', 'act', 'observe', 'undo', 'undo']);
    expect(stepStates(store.job())).toEqual(['undone', 'undone']);
  });

  it('makes a job due at once that was about to wait', async () => {
    store.add(sampleJob());
    await run({
      ...device.handler,
      observe: async () => {
        store.cancel('job-1', CANCEL);
        return { seen: 'under_way', reason: 'it boots', pollAfterMs: 60_000 };
      },
    });
    expect([store.job().status, store.dueInMs()]).toEqual(['running', 0]);
  });

  it('of a job that was never started ends it without a probe', async () => {
    store.add(sampleJob());
    store.cancel('job-1', CANCEL);
    await run(device.handler, undoable);
    expect([store.job().status, device.trace]).toEqual(['cancelled', []]);
    expect(stepStates(store.job())).toEqual(['waiting']);
  });

  it('that turns out to be none lets the job go on', async () => {
    store.add(sampleJob());
    device.whileActing = untilStopped;
    const busy = await hold(store, device.handler, undoable);
    await advance(1);
    device.whileActing = () => {};
    busy.cancel();
    await busy.over;
    expect([store.job().status, device.effects]).toEqual(['completed', 1]);
  });

  it('does not stop the undo a second time: only a handover does', async () => {
    store.add(sampleJob());
    store.cancel('job-1', CANCEL);
    store.add({ ...store.job(), ...started(), cancel: CANCEL });
    const back = await hold(
      store,
      {
        ...device.handler,
        undo: async (context) => {
          back.cancel();
          return device.handler.undo(context);
        },
      },
      undoable,
    );
    await back.over;
    expect([store.job().status, device.undos]).toEqual(['cancelled', 1]);
  });

  it('survives a crash on the way back', async () => {
    store.add(started({ cancel: CANCEL }));
    await expect(run(device.handler, { ...undoable, ...dyingAt('after_effect') })).rejects.toThrow(
      ProcessDeath,
    );
    expect(store.job().status).toBe('compensating');
    await advance(LEASE_MS);
    await run(device.handler, { ...undoable, owner: 'b' });
    expect(store.job().status).toBe('cancelled');
  });
});

describe('undoing', () => {
  const undoable: HolderOptions = { canUndo: () => true };
  const withUndo = (undo: NonNullable<StepHandler<string>['undo']>): StepHandler<string> => ({
    ...device.handler,
    undo,
  });

  it('is tried again after a failure, and each attempt has its own number', async () => {
    store.add(started({ cancel: CANCEL }));
    const attempts: number[] = [];
    const handler = withUndo(async (context) => {
      attempts.push(context.attempt);
      if (attempts.length === 1)
        throw new StepFailure({ class: 'retryable', code: 'COMMAND_FAILED', message: 'not now' });
      return { result: 'done', message: '' };
    });
    await run(handler, undoable);
    expect([store.job().status, store.dueInMs()]).toEqual(['compensating', 500]);
    await advance(500);
    await run(handler, undoable);
    expect(attempts).toEqual([1, 2]);
    expect(store.job().status).toBe('cancelled');
  });

  it('is parked after its last try', async () => {
    store.add(started({ cancel: CANCEL }));
    const handler = withUndo(async () => {
      throw new StepFailure({ class: 'retryable', code: 'COMMAND_FAILED', message: 'never' });
    });
    await run(handler, undoable);
    await advance(500);
    await run(handler, undoable);
    expect(store.job()).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'COMMAND_FAILED', attempts: 2 },
    });
  });

  it('has the step’s whole time, however long ago the step was started', async () => {
    store.add(started({ cancel: CANCEL }));
    await advance(3_600_000);
    const back = await hold(store, withUndo(untilStopped), undoable);
    back.lease.renewed(performance.now(), 1_000_000);
    await advance(59_999);
    expect(store.ownerOf()).toBe('a');
    await advance(1);
    await back.over;
    expect(store.job().waitingFor).toBe('next attempt after: not done within 60 s');
  });

  it('that waits without an end runs out of time too', async () => {
    store.add(started({ cancel: CANCEL }));
    const handler = withUndo(async () => ({
      result: 'started',
      reason: 'switching off',
      pollAfterMs: 20_000,
    }));
    const waits: string[] = [];
    for (let pass = 0; pass < 20 && store.job().finishedAt === null; pass += 1) {
      await run(handler, undoable);
      waits.push(store.job().waitingFor);
      await advance(store.dueInMs());
    }
    expect(waits).toContain('switching off');
    expect(store.job()).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'TIMED_OUT', attempts: 2 },
    });
  });

  it('releases the job between two probes even when the next one is due at once', async () => {
    store.add(started({ cancel: CANCEL }));
    const undo = vi.fn(async () => ({ result: 'started', reason: 'switching off', pollAfterMs: 0 }) as const);
    await run(withUndo(undo), undoable);
    expect(undo).toHaveBeenCalledOnce();
    expect(store.ownerOf()).toBeNull();
  });
});

describe('a handover', () => {
  it('stops between two effects and writes nothing about the step', async () => {
    store.add(sampleJob());
    device.whileActing = untilStopped;
    const leaving = await hold(store, device.handler);
    await advance(1);
    const writes = store.writes.length;
    leaving.handOver();
    await leaving.over;
    expect(store.writes).toHaveLength(writes);
    expect(store.job().steps[0]).toMatchObject({ state: 'running', attempts: 1 });
  });

  it('lets no effect start after it', async () => {
    store.add(sampleJob());
    device.whileProbing = () => leaving.handOver();
    const leaving = await hold(store, device.handler);
    await leaving.over;
    expect([device.trace, device.effects]).toEqual([['observe', 'act'], 0]);
  });
});

describe('an unexpected error', () => {
  it('fails the attempt as INTERNAL, and its words stay in the log', async () => {
    store.add(sampleJob());
    const error = new Error('connect failed for root:calvin@bmc-7');
    const holding = await hold(store, {
      ...device.handler,
      observe: async () => {
        throw error;
      },
    });
    await holding.over;
    expect(holding.unexpected).toEqual([error]);
    expect(JSON.stringify([store.job(), store.events, store.lines])).not.toContain('calvin');
    expect(store.events.at(-1)).toMatchObject({ metadata: { code: 'INTERNAL', class: 'retryable' } });
    expect(store.job().status).toBe('running');
  });

  it('is distinct from a failure with a message for people', async () => {
    store.add(sampleJob());
    const holding = await hold(store, {
      ...device.handler,
      observe: async () => {
        throw new StepFailure({
          class: 'needs_human',
          code: 'BMC_MISMATCH',
          message: 'the chassis is locked',
        });
      },
    });
    await holding.over;
    expect(holding.unexpected).toEqual([]);
    expect(store.job()).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'BMC_MISMATCH', message: 'the chassis is locked' },
    });
  });

  it('in a step without a handler fails the job with the reason', async () => {
    store.add(sampleJob());
    await run(async () => {
      throw new StepFailure({ class: 'needs_human', code: 'UNKNOWN_STEP_KIND', message: 'what is work?' });
    });
    expect(store.job().error).toMatchObject({ code: 'UNKNOWN_STEP_KIND', step: 'work' });
  });

  it('while finding the handler leaves the job as it is', async () => {
    store.add(started());
    const handlerFor = async () => {
      throw new Error('the database is away');
    };
    await expect(run(handlerFor)).rejects.toThrow('the database is away');
    expect(store.job()).toMatchObject({ status: 'running', error: null });
  });

  it('while a move is written leaves the job as it is', async () => {
    store.add(started());
    store.before = (call) => {
      if (call === 'record') throw new Error('the database is away');
    };
    await expect(run()).rejects.toThrow('the database is away');
    expect(store.job()).toMatchObject({ status: 'running', error: null });
    expect(device.effects).toBe(1);
  });
});

describe('the log of a job', () => {
  it('is stored before the state that follows it is seen', async () => {
    store.add(sampleJob());
    device.whileActing = ({ log }) => log('switching on\nit hums', 'stderr');
    await run();
    expect(store.writes.slice(-3)).toEqual(['log: switching on', 'log: it hums', 'completed succeeded']);
    expect(store.lines).toMatchObject([
      { id: 'job-1', epoch: 1, line: 0, stream: 'stderr', step: 'work', text: 'switching on' },
      { line: 1, text: 'it hums' },
    ]);
  });

  it('is counted across holders, so that its last part is kept as short as by one', async () => {
    store.add(sampleJob());
    const chatty: StepHandler<string> = {
      ...device.handler,
      observe: async ({ log }) => {
        for (let line = 0; line < 4; line += 1) log('x'.repeat(99));
        return { seen: 'under_way', reason: 'it boots', pollAfterMs: 10 };
      },
    };
    for (let holder = 0; holder < 10; holder += 1) {
      await run(chatty, { maxLogBytes: 1_600 });
      await advance(10);
    }
    expect(store.lines.filter(({ tail }) => !tail)).toHaveLength(8);
    expect(store.tails.length).toBeGreaterThanOrEqual(6);
    expect(store.job().logBytes).toBeLessThanOrEqual(1_600);
  });
});

describe('a step of which nothing can be observed', () => {
  const failure = { class: 'effect_unknown', code: 'EFFECT_UNKNOWN', message: 'who knows' } as const;
  const blind = (why: typeof failure | null): StepHandler<string> => ({
    ...device.handler,
    observe: async () => ({ seen: 'unobservable', failure: why }),
    act: async (context) => {
      await device.handler.act(context);
      return { result: 'done', message: 'it ran' };
    },
  });
  const adopted = (claim: { by: string; reason: string } | null) =>
    sampleJob({ adopting: 'asked', steps: [sampleStep({ claim })] });

  it('is acted on', async () => {
    store.add(sampleJob());
    await run(blind(null));
    expect([store.job().status, device.effects]).toEqual(['completed', 1]);
  });

  it('fails where acting again could do harm', async () => {
    store.add(sampleJob());
    await run(blind(failure));
    expect(store.job().error).toMatchObject({ code: 'EFFECT_UNKNOWN' });
    expect(device.effects).toBe(0);
  });

  it.each([null, failure])('is done by the claim of an operator who adopts it', async (why) => {
    store.add(adopted({ by: 'operator:ann', reason: 'I saw it' }));
    await run(blind(why));
    expect(store.job()).toMatchObject({ status: 'reconciled', error: null });
    expect(store.job().steps[0]?.message).toBe('claimed done by operator:ann: I saw it');
    expect(device.effects).toBe(0);
  });

  it('is not done when the system adopts it: it has seen nothing', async () => {
    store.add(adopted(null));
    await run(blind(null));
    expect(store.job().error).toMatchObject({ code: 'NOTHING_TO_ADOPT' });
    expect(device.effects).toBe(0);
  });

  it('is not done by a claim where a probe shows that it is not done', async () => {
    store.add(adopted({ by: 'operator:ann', reason: 'I believe it' }));
    await run();
    expect(store.job().error).toMatchObject({ code: 'NOTHING_TO_ADOPT' });
    expect(device.effects).toBe(0);
  });
});

describe('an upstream that does not answer', () => {
  const away = (effect: 'none' | 'unknown' = 'none') =>
    new StepFailure(
      { class: 'retryable', code: 'MAAS_UNAVAILABLE', message: 'site-a can’t be reached: ECONNREFUSED' },
      { upstream: 'MAAS', name: 'site-a', effect },
    );
  const SINCE = 'waiting for MAAS to answer since 2026-01-01T00:00:00.000Z (site-a)';
  const probing: StepHandler<string> = {
    observe: async () => {
      throw away();
    },
    act: async () => ({ result: 'done', message: '' }),
  };

  /** Holds the job whenever it is due, for so long. */
  async function runFor(
    ms: number,
    handler: StepHandler<string>,
    options: HolderOptions = {},
  ): Promise<void> {
    const until = Date.now() + ms;
    while (Date.now() < until && isActive(store.job().status)) {
      if (store.dueInMs() > 0) await advance(Math.min(store.dueInMs(), until - Date.now()));
      else await run(handler, options);
    }
  }

  it('is waited for by a step that probes, and uses up no attempt', async () => {
    store.add(sampleJob());
    await runFor(45_000, probing);
    expect(store.job()).toMatchObject({ status: 'running', waitingFor: SINCE });
    expect(store.job().steps[0]).toMatchObject({ attempts: 1, message: SINCE });
    const waits = store.events.filter(({ comment }) => comment.includes('waiting for MAAS'));
    expect(waits).toHaveLength(1);
    expect(store.lines.map(({ text }) => text)).toEqual(['site-a can’t be reached: ECONNREFUSED']);
  });

  it('is known since the same time by the next holder', async () => {
    store.add(sampleJob());
    await run(probing);
    await advance(20_000);
    await run(probing, { owner: 'b' });
    expect(store.job().waitingFor).toBe(SINCE);
  });

  it('is forgotten when it answers, and another outage has another time', async () => {
    store.add(sampleJob());
    await run(probing);
    await advance(10_000);
    const busy: StepHandler<string> = {
      ...probing,
      observe: async () => ({ seen: 'under_way', reason: 'it boots', pollAfterMs: 1_000 }),
    };
    await run(busy);
    expect(store.job().waitingFor).toBe('it boots');
    expect(store.job().steps[0]).toMatchObject({ unanswered: null, unansweredMs: 10_000 });
    expect(store.lines.at(-1)?.text).toBe('MAAS answers again (site-a)');
    await advance(1_000);
    await run(probing);
    expect(store.job().waitingFor).toBe('waiting for MAAS to answer since 2026-01-01T00:00:11.000Z (site-a)');
  });

  it('is waited for until the step’s own limit, which names it; then it counts as any time-out', async () => {
    store.add(sampleJob());
    await runFor(60_100, probing);
    expect(store.job().waitingFor).toBe(`next attempt after: not done within 60 s (${SINCE})`);
    await runFor(62_000, probing);
    expect(store.job()).toMatchObject({
      status: 'failed_retryable',
      error: { code: 'TIMED_OUT', message: `not done within 60 s (${SINCE})`, attempts: 2 },
    });
  });

  it.each(['none', 'unknown'] as const)('is asked to act at most once in 10 s (%s)', async (effect) => {
    store.add(sampleJob());
    const acts: number[] = [];
    const refusing: StepHandler<string> = {
      ...device.handler,
      act: async () => {
        acts.push(Date.now() - START.getTime());
        throw away(effect);
      },
    };
    await runFor(45_000, refusing);
    expect(acts).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
    expect(store.job().waitingFor).toBe(SINCE);
    await runFor(10_000, device.handler);
    expect([store.job().status, device.effects, store.job().steps[0]?.attempts]).toEqual(['completed', 1, 1]);
  });

  it('is asked to undo at most once in 10 s, and the undo is no failure', async () => {
    store.add(started({ cancel: CANCEL }));
    const undos: number[] = [];
    const undo = async () => {
      undos.push(Date.now() - START.getTime());
      throw away();
    };
    await runFor(25_000, { ...device.handler, undo }, { canUndo: () => true });
    expect(undos).toEqual([0, 10_000, 20_000]);
    expect(store.job()).toMatchObject({ status: 'compensating', waitingFor: SINCE });
    expect(store.job().steps[0]?.undoAttempts).toBe(0);
  });
});

describe('an act whose effect is not seen', () => {
  it('is repeated at most once in 10 s, and probed meanwhile', async () => {
    store.add(sampleJob());
    const acts: number[] = [];
    let probes = 0;
    const unseen: StepHandler<string> = {
      ...device.handler,
      observe: async () => {
        probes += 1;
        return { seen: 'absent' };
      },
      act: async () => {
        acts.push(Date.now() - START.getTime());
        return { result: 'started', reason: 'waiting for the power to be off', pollAfterMs: 1_000 };
      },
    };
    for (let second = 0; second <= 30; second += 1) {
      await run(unseen);
      await advance(1_000);
    }
    expect(acts).toEqual([0, 10_000, 20_000, 30_000]);
    expect(probes).toBe(31);
    expect(store.job().waitingFor).toBe('waiting for the power to be off');
  });

  it('is not waited for where another act is next', async () => {
    store.add(sampleJob());
    const acts: string[] = [];
    const inTwo: StepHandler<string> = {
      ...device.handler,
      observe: async () =>
        acts.length === 2 ? { seen: 'done', message: '' } : { seen: 'absent', next: true },
      act: async () => {
        acts.push(acts.length === 0 ? 'off' : 'on');
        return { result: 'started', reason: 'switching', pollAfterMs: 1 };
      },
    };
    for (let pass = 0; pass < 3; pass += 1) {
      await run(inTwo);
      await advance(1);
    }
    expect([acts, store.job().status]).toEqual([['off', 'on'], 'completed']);
  });
});
