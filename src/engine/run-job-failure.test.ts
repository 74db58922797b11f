import { describe, expect, it } from 'vitest';
import { isActive } from '../domain/operation/operation-status.ts';
import { CANCEL, START, sampleJob, sampleStep } from './job.fixture.ts';
import { type HolderOptions, hold } from './job-holder.fixture.ts';
import { advance, device, run, setUpJobStore, started, store } from './run-job.fixture.ts';
import { StepFailure, type StepHandler } from './step-handler.ts';

setUpJobStore();

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

  it('has what the handler says of its subject recorded with it, but for one to adopt', async () => {
    const handler: StepHandler<string> = {
      ...device.handler,
      observe: async () => {
        throw new StepFailure({ class: 'needs_human', code: 'BMC_MISMATCH', message: 'locked' });
      },
      afterFailure: ({ message }, { attempt }) => `attempt ${attempt}: ${message}`,
    };
    store.add(sampleJob());
    await run(handler);
    expect(store.changes.join()).toContain('attempt 1: locked');
    const before = store.changes.length;
    store.add({ ...started(), id: 'adopted', adopting: 'asked' });
    await run(handler);
    expect(store.changes.slice(before).join()).not.toContain('locked');
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
