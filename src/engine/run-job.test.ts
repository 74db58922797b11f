import { describe, expect, it, vi } from 'vitest';
import { sampleJob, sampleStep } from './job.fixture.ts';
import type { Job } from './job.ts';
import { hold, LEASE_MS, MAX_DEATHS } from './job-holder.fixture.ts';
import { LeaseLost } from './lease.ts';
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
import type { StepHandler } from './step-handler.ts';

setUpJobStore();

describe('a pass over a step', () => {
  it('probes, acts where nothing is found, and probes again', async () => {
    store.add(sampleJob());
    await run();
    expect(device.trace).toEqual(['observe', 'act', 'observe']);
    expect(store.job().status).toBe('completed');
    expect(store.changes).toEqual(['end: completed']);
    expect(store.ownerOf()).toBeNull();
  });

  it('reads its subject once for an act and the probe right after it, and again for the next step', async () => {
    const steps = [sampleStep(), sampleStep({ name: 'second' })];
    store.add(sampleJob({ steps }));
    const handlerOf = vi.fn(async () => device.handler);
    await run(handlerOf);
    expect(device.trace).toEqual(['observe', 'act', 'observe', 'observe']);
    expect(store.job().status).toBe('completed');
    expect(handlerOf).toHaveBeenCalledTimes(2);
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
