import { describe, expect, it, vi } from 'vitest';
import { untilStopped } from './device.fixture.ts';
import { CANCEL, sampleJob, sampleStep } from './job.fixture.ts';
import { type HolderOptions, hold, LEASE_MS } from './job-holder.fixture.ts';
import { ProcessDeath } from './memory-job-store.fixture.ts';
import {
  advance,
  device,
  dyingAt,
  run,
  setUpJobStore,
  started,
  stepStates,
  store,
} from './run-job.fixture.ts';
import { StepFailure, type StepHandler } from './step-handler.ts';

setUpJobStore();

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
