/**
 * The proofs that every step kind owes: its action may run twice, and it may be broken off at any point. The
 * kinds come from the registry: one without a scenario here fails.
 */
import { describe, expect, it } from 'vitest';
import type { MachineChange } from '../domain/machine/machine-change.ts';
import type { Memo } from '../domain/operation/step.ts';
import type { StepContext, StepHandler } from '../engine/step-handler.ts';
import { type FakeState, settle } from '../providers/fake/fake-state.ts';
import { PROOFS } from './proofs/step-kind-proofs.fixture.ts';
import { canUndo, handlerFor, STEP_KINDS } from './registry.ts';
import { type End, type Scenario, StepRun } from './step-proof.fixture.ts';

/**
 * Stages work on MAAS, which the fake provider has not: test/maas breaks each of them off at every boundary. Those of a
 * migration work on the inventory: migration-proofs.test.ts does it to them.
 */
const PROVED_ELSEWHERE = ['stage', 'replace-hardware', 'await-replacement', 'finish-migration'];

it('every step kind has its proofs, and every proof its kind', () => {
  expect([...Object.keys(PROOFS), ...PROVED_ELSEWHERE].toSorted()).toEqual([...STEP_KINDS.keys()].toSorted());
});

const cases = [...STEP_KINDS.keys()].flatMap((kind) =>
  Object.entries(PROOFS[kind] ?? {}).map(([name, proof]) => {
    const scenario: Scenario = { ...proof, kind, stepMs: proof.onTheLine ? 0 : 1_000 };
    return [`${kind} ${name}`, scenario, proof] as const;
  }),
);

/** Drives a handler by hand, with a memo that outlives it as the operation's row does. */
class ByHand {
  readonly run: StepRun;
  memo: Memo = {};
  #fence = 0;

  constructor(scenario: Scenario) {
    this.run = new StepRun(scenario);
  }

  handler(): StepHandler<MachineChange> {
    this.#fence += 1;
    return handlerFor(this.run.step, this.run);
  }

  context(): StepContext {
    const hand = this;
    const { signal } = new AbortController();
    return {
      operationId: 'op-1',
      step: this.run.step.name,
      attempt: 1,
      round: 0,
      fence: this.#fence,
      checkHeld: () => {},
      get memo() {
        return hand.memo;
      },
      signal,
      now: () => new Date(this.run.clock.ms),
      log: () => {},
      save: async (memo) => {
        this.memo = memo;
      },
      effect: (work) => work(signal),
    };
  }

  /** Observes, acts where nothing is observed, and waits, until it is done; returns its effects on the machine. */
  async toDone(handler = this.handler()): Promise<MachineChange | undefined> {
    for (let pass = 0; pass < 100; pass += 1) {
      const seen = await handler.observe(this.context());
      if (seen.seen === 'done') return seen.change;
      if (seen.seen === 'failed') throw new Error(seen.failure.message);
      if (seen.seen === 'under_way') this.run.clock.ms += Math.max(1, seen.pollAfterMs);
      if (seen.seen === 'unobservable' && seen.failure) throw new Error(seen.failure.message);
      if (!isToBeActedOn(seen.seen)) continue;
      const acted = await handler.act(this.context());
      if (acted.result === 'done') return acted.change;
      if (acted.result === 'failed') throw new Error(acted.failure.message);
      this.run.clock.ms += acted.pollAfterMs;
    }
    throw new Error('never done');
  }

  async undo(handler = this.handler()): Promise<string> {
    for (let pass = 0; pass < 100; pass += 1) {
      const result = await handler.undo?.(this.context());
      if (result?.result === 'done') return result.message;
      if (result?.result !== 'started') throw new Error('can’t be undone');
      this.run.clock.ms += Math.max(1, result.pollAfterMs);
    }
    throw new Error('never undone');
  }

  async left(): Promise<{ state: Omit<FakeState, 'fence' | 'ended'>; tasks: string[] }> {
    const {
      fence: _fence,
      ended: _ended,
      ...state
    } = settle(await this.run.world.read('m-1'), Number.MAX_SAFE_INTEGER);
    return { state, tasks: this.run.world.tasks.map(({ key }) => key) };
  }
}

describe.each(cases)('%s', (_title, scenario, proof) => {
  const undisturbed = () => new StepRun(scenario).toTheEnd();
  const counted = <T>(tasks: readonly T[]) => (proof.harmless ? [...new Set(tasks)] : tasks);
  const comparable = <Left extends { readonly tasks: readonly string[] }>(left: Left) => ({
    ...left,
    ...(proof.goesOn && { underWay: true }),
    tasks: counted(left.tasks),
  });

  it('does what it is for', async () => {
    const end = await undisturbed();
    expect(end).toMatchObject({ status: 'completed', step: 'succeeded', attempts: 1 });
    expect(end.body).toMatchObject({ ...proof.leaves.body, task: null, staleEffects: 0 });
    expect(end.tasks).toEqual(proof.leaves.tasks);
  });

  it('runs twice with the same end', async () => {
    const hand = new ByHand(scenario);
    const change = await hand.toDone();
    const left = comparable(await hand.left());
    hand.run.clock.ms += 60_000;
    if (proof.parksWhenUnknown) await expect(hand.toDone()).rejects.toThrow(/its end was not seen/);
    else expect(await hand.toDone()).toEqual(change);
    expect(comparable(await hand.left())).toEqual(left);
  });

  it('may be started twice before it is observed', async () => {
    const once = new ByHand(scenario);
    await once.toDone();
    const twice = new ByHand(scenario);
    const first = twice.handler();
    if (isToBeActedOn((await first.observe(twice.context())).seen)) {
      await first.act(twice.context());
      if (proof.parksWhenUnknown) return;
      await twice.handler().act(twice.context());
      if (!proof.onTheLine) await twice.toDone();
    }
    expect(comparable(await twice.left())).toEqual(comparable(await once.left()));
  });

  it('goes on where another holder left it', async () => {
    const hand = new ByHand(scenario);
    const first = hand.handler();
    if (isToBeActedOn((await first.observe(hand.context())).seen)) await first.act(hand.context());
    hand.run.clock.ms += scenario.stepMs / 2;
    if (proof.parksWhenUnknown) return;
    await hand.toDone();
    const started = hand.run.world.tasks.map(({ kind, target }) => `${kind} ${target}`.trim());
    expect(counted(started)).toEqual(proof.leaves.tasks);
  });

  // A lease that ends while the work is under way, and one that ends long after it.
  it.each([100])('may die at any point (taken over after %i ms)', proveDeaths);
  it.each([10_000])('may die at any point (taken over after %i ms)', { tags: ['extended'] }, proveDeaths);

  async function proveDeaths(leaseMs: number): Promise<void> {
    const expected = await undisturbed();
    const { points } = await measured(scenario);
    expect(points).toBeGreaterThan(1);
    const parked: number[] = [];
    for (let at = 0; at < points; at += 1) {
      const end = await new StepRun(scenario, { dieAt: at, leaseMs }).toTheEnd();
      if (proof.parksWhenUnknown && end.error === 'EFFECT_UNKNOWN') {
        parked.push(at);
        expect(end.tasks.length).toBeLessThanOrEqual(1);
        expect(end.status).toBe('failed_manual_intervention');
      } else expect(comparable(end), `death at point ${at}`).toEqual(comparable(expected));
    }
    expect(parked.length > 0).toBe(proof.parksWhenUnknown === true);
    expect(parked.length).toBeLessThan(points);
  }

  it('may be canceled at any point', async () => {
    const { points, end: expected } = await measured(scenario);
    for (let at = 0; at < points; at += 1) {
      const end = await new StepRun(scenario, { cancelAt: at }).toTheEnd();
      if (end.status === 'completed') expect(comparable(end)).toEqual(comparable(expected));
      else {
        expect(end.status, `cancel at point ${at}`).toBe('cancelled');
        if (proof.undone) {
          expect(proof.undone(end.body), JSON.stringify(end)).toBe(true);
          if (!proof.unstoppable) expect(end.underWay, JSON.stringify(end)).toBe(false);
        }
      }
    }
  });
});

/** Where nothing is set off there is nothing to undo. */
const undoable = cases.filter(
  ([, scenario, { leaves }]) => canUndo(new StepRun(scenario).step) && leaves.tasks.length > 0,
);

it('a kind can be undone exactly when its handler knows how', () => {
  for (const [, scenario, proof] of cases) {
    const hand = new ByHand(scenario);
    const handler = hand.handler();
    expect(handler.undo !== undefined, scenario.kind).toBe(canUndo(hand.run.step));
    expect(proof.undone !== undefined, scenario.kind).toBe(handler.undo !== undefined);
  }
});

describe.each(undoable)('undoing %s', (_title, scenario, proof) => {
  it.each([
    ['before it was set off', 0],
    ['half-way', 0.5],
    ['when it was done', 2],
  ])('%s may be done twice', async (when, part) => {
    const hand = new ByHand(scenario);
    if (when !== 'before it was set off') await hand.handler().act(hand.context());
    hand.run.clock.ms += scenario.stepMs * part;
    await hand.undo();
    const undoneAt = hand.run.clock.ms;
    const left = await hand.left();
    hand.run.clock.ms += 60_000;
    await hand.undo();
    expect(await hand.left()).toEqual(left);
    expect(proof.undone?.(left.state)).toBe(true);
    if (proof.unstoppable) return;
    expect(settle(await hand.run.world.read('m-1'), undoneAt).task).toBeNull();
  });

  it.each([100])('may die at any point (taken over after %i ms)', proveDeaths);
  it.each([10_000])('may die at any point (taken over after %i ms)', { tags: ['extended'] }, proveDeaths);

  async function proveDeaths(leaseMs: number): Promise<void> {
    // Canceled in the first call that changes something, so that there is something to undo.
    const cancelAt = await firstPointWithTask(scenario);
    const undisturbed = new StepRun(scenario, { cancelAt, leaseMs });
    expect(await undisturbed.toTheEnd()).toMatchObject({ status: 'cancelled', step: 'undone' });
    expect(undisturbed.points).toBeGreaterThan(cancelAt + 2);
    for (let dieAt = cancelAt + 1; dieAt < undisturbed.points; dieAt += 1) {
      const end = await new StepRun(scenario, { cancelAt, dieAt, leaseMs }).toTheEnd();
      const { status, step, error, attempts, body, underWay } = end;
      // Work that was complete when the next holder came has other things to take back than work half done.
      expect({ status, step, error, attempts, underWay }, `death at point ${dieAt}`).toEqual({
        status: 'cancelled',
        step: 'undone',
        error: undefined,
        attempts: 1,
        underWay: proof.unstoppable ? underWay : false,
      });
      expect(proof.undone?.(body), `death at point ${dieAt}: ${JSON.stringify(body)}`).toBe(true);
      expect(body.staleEffects).toBe(0);
    }
  }
});

async function measured(scenario: Scenario): Promise<{ points: number; end: End }> {
  const run = new StepRun(scenario);
  const end = await run.toTheEnd();
  return { points: run.points, end };
}

function isToBeActedOn(seen: string): boolean {
  return seen === 'absent' || seen === 'unobservable';
}

/** The first point at which a task is under way: right after the call that set it off. */
async function firstPointWithTask(scenario: Scenario): Promise<number> {
  for (let dieAt = 0; dieAt < 100; dieAt += 1) {
    const run = new StepRun(scenario, { dieAt });
    await run.untilDeath();
    if (run.world.tasks.length > 0) return dieAt;
  }
  throw new Error('it never begins a task');
}
