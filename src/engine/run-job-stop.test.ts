import { describe, expect, it } from 'vitest';
import { forever, untilStopped } from './device.fixture.ts';
import { CANCEL, sampleJob, sampleStep } from './job.fixture.ts';
import { hold } from './job-holder.fixture.ts';
import { advance, device, run, setUpJobStore, started, store } from './run-job.fixture.ts';
import type { StepHandler } from './step-handler.ts';

setUpJobStore();

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
