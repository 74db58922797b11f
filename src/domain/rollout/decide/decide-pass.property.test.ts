/**
 * Rollouts as a model: a simulated store that keeps the rules of the real one (a decision is written in the transaction that
 * read it, a start is checked against the epoch), two runners that crash between any two of their moves, and people who act
 * at any time. Whatever the order: no limit is exceeded, no machine starts twice in one attempt, none is forgotten, and nothing
 * starts after a stop rule held, a pause or an abort.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MachineCounts, RolloutMachineState, RolloutState } from '../rollout.ts';
import { isEnded, statesOfRolloutMachines } from '../rollout-state.ts';
import type { RolloutSpec, RolloutStep } from '../spec/rollout-spec.ts';
import { heldRule, NO_FAILURES } from '../stop-rule.ts';
import { startsOperation } from './decide-machines.ts';
import { decidePass, parallelOf } from './decide-pass.ts';
import type {
  EndedMachine,
  MachineInView,
  PassDecision,
  PassView,
  StartOrder,
  WaveInView,
} from './pass-view.ts';

interface Machine extends MachineInView {
  wave: number;
  step: number;
  attempt: number;
  state: RolloutMachineState;
  /** Null: none; otherwise whether it has ended, and how. */
  operation: 'active' | 'succeeded' | 'failed' | null;
}

/** A decision that a runner has made and not carried out. */
interface Decided {
  readonly epoch: number;
  starts: StartOrder[];
}

class Model {
  spec: RolloutSpec;
  state: RolloutState = 'running';
  reason = '';
  tally = NO_FAILURES;
  epoch = 1;
  now = 0;
  readonly machines: Machine[];
  readonly waves: Array<
    Pick<WaveInView, 'number' | 'gate' | 'isLast'> & {
      state: WaveInView['state'];
      approvedBy: string;
      approvedAs: null;
      soaksUntil: Date | null;
    }
  >;
  /** What the runners have in hand: lost when they crash. */
  readonly hands: Array<Decided | null> = [null, null];
  /** Who holds the lease. */
  holder = 0;
  /** Each start: the machine, the step and the attempt. */
  readonly started = new Set<string>();

  constructor(spec: RolloutSpec, waves: readonly number[], groups: number) {
    this.spec = spec;
    this.machines = waves.flatMap((size, index) =>
      Array.from(
        { length: size },
        (_, at): Machine => ({
          machineId: `m${index}-${at}`,
          wave: index + 1,
          step: 0,
          attempt: 1,
          groups: [`=${at % groups}`],
          state: 'pending',
          operation: null,
        }),
      ),
    );
    this.waves = waves.map((_, index) => ({
      number: index + 1,
      state: 'waiting',
      gate: spec.gates[index] ?? spec.gate,
      approvedBy: '',
      approvedAs: null,
      soaksUntil: null,
      isLast: index === waves.length - 1,
    }));
  }

  counts(wave?: number): MachineCounts {
    const of = this.machines.filter((machine) => wave === undefined || machine.wave === wave);
    return Object.fromEntries(
      statesOfRolloutMachines.map((state) => [state, of.filter((machine) => machine.state === state).length]),
    ) as unknown as MachineCounts;
  }

  view(): PassView {
    const next = this.waves.find(({ state }) => state === 'waiting')?.number;
    const waves = this.waves
      .filter(({ state, number }) => (state !== 'waiting' && state !== 'done') || number === next)
      .map((wave) => ({ ...wave, machines: this.counts(wave.number) }));
    const running = this.machines.filter(({ state }) => state === 'running');
    const open = waves.filter(({ state }) => state === 'running').map(({ number }) => number);
    const underWay = new Map<string, number>();
    for (const { groups } of running) underWay.set(groups[0] ?? '', (underWay.get(groups[0] ?? '') ?? 0) + 1);
    return {
      spec: this.spec,
      state: this.state,
      reason: this.reason,
      tally: this.tally,
      waves,
      totals: this.counts(),
      ended: running.flatMap((machine): EndedMachine[] => {
        if (machine.operation === 'succeeded') return [{ ...machine, result: { outcome: 'succeeded' } }];
        if (machine.operation !== 'failed') return [];
        return [{ ...machine, result: { outcome: 'failed', errorCode: 'BAD', message: '' } }];
      }),
      observed: running
        .filter(({ operation, step }) => operation === null && !startsOperation(this.spec.steps[step]))
        .map((machine) => ({ ...machine, matches: true, matchesSince: null, stepSince: new Date(this.now) })),
      continuing: running.filter(
        ({ operation, step }) => operation === null && startsOperation(this.spec.steps[step]),
      ),
      candidates: this.machines
        .filter(({ state, wave }) => state === 'pending' && open.includes(wave))
        .slice(0, 5),
      underWay: [underWay],
      occupants: [],
      putOff: '',
      findings: null,
      recovered: [],
      now: new Date(this.now),
    };
  }

  write(decision: PassDecision): void {
    for (const move of decision.moves) {
      const machine = this.machine(move.machineId);
      expect(machine.state).toBe(move.from);
      if (move.step !== machine.step) machine.operation = null;
      machine.state = move.to;
      machine.step = move.step;
    }
    for (const move of decision.waves) {
      const wave = this.waves[move.number - 1];
      if (!wave) throw new Error('a wave that does not exist');
      wave.state = move.to;
      wave.soaksUntil = move.soaksUntil;
    }
    if (decision.cancelPending !== '') this.cancelPending();
    this.state = decision.state;
    this.reason = decision.reason;
    this.tally = decision.tally;
  }

  cancelPending(): void {
    for (const machine of this.machines) if (machine.state === 'pending') machine.state = 'canceled';
  }

  machine(machineId: string): Machine {
    const machine = this.machines.find((one) => one.machineId === machineId);
    if (!machine) throw new Error('a machine that does not exist');
    return machine;
  }

  /** As the transaction of a start: the fence, the operation and the record together. */
  start(epoch: number, order: StartOrder): void {
    const machine = this.machine(order.machineId);
    const isAdmitted =
      epoch === this.epoch &&
      this.state === 'running' &&
      machine.state === order.from &&
      machine.step === order.step &&
      machine.attempt === order.attempt &&
      machine.operation === null;
    if (!isAdmitted) return;
    const key = `${machine.machineId} ${machine.step} ${machine.attempt}`;
    expect(this.started).not.toContain(key);
    this.started.add(key);
    machine.state = 'running';
    machine.operation = 'active';
    this.check(order);
  }

  /** What must hold right after a start. */
  check({ from, wave }: StartOrder): void {
    expect(this.state).toBe('running');
    const sizes = this.waves.map(({ number }) => ({ number, machines: this.sizeOf(number) }));
    expect(heldRule(this.spec.stop, this.tally, sizes)).toBeNull();
    expect(this.waves[wave - 1]?.state).toBe('running');
    if (from === 'running') return;
    const { running } = this.counts();
    expect(running).toBeLessThanOrEqual(parallelOf({ spec: this.spec, totals: this.counts() }));
    for (const [index, limit] of this.spec.limits.entries()) {
      if (!('count' in limit.maxUnavailable)) continue;
      const use = new Map<string, number>();
      for (const { state, groups } of this.machines)
        if (state === 'running') use.set(groups[index] ?? '', (use.get(groups[index] ?? '') ?? 0) + 1);
      for (const count of use.values())
        expect(count).toBeLessThanOrEqual(this.atMost(limit.maxUnavailable.count));
    }
  }

  /** A limit that became tighter does not undo what was under way. */
  loosest = 0;
  atMost(count: number): number {
    return Math.max(count, this.loosest);
  }

  stepsStarted(machineId: string): number[] {
    const steps = [...this.started].flatMap((key) => {
      const [id, step] = key.split(' ');
      return id === machineId ? [Number(step)] : [];
    });
    return [...new Set(steps)].sort();
  }

  sizeOf(wave: number): number {
    const { ineligible: _ineligible, ...counts } = this.counts(wave);
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }
}

type Move = { readonly name: string; readonly run: (model: Model) => void };

function act(model: Model, change: () => void): void {
  if (isEnded(model.state)) return;
  change();
  model.epoch += 1;
}

const pass = (runner: number): Move => ({
  name: `pass ${runner}`,
  run: (model) => {
    if (model.holder !== runner || isEnded(model.state)) return;
    const decision = decidePass(model.view());
    model.write(decision);
    model.hands[runner] = { epoch: model.epoch, starts: [...decision.starts] };
  },
});

/** A runner that has lost its lease may not know it, and starts what it decided before. */
const startOne = (runner: number): Move => ({
  name: `start ${runner}`,
  run: (model) => {
    const hand = model.hands[runner];
    const order = hand?.starts.shift();
    if (hand && order) model.start(hand.epoch, order);
  },
});

const WORK: readonly fc.Arbitrary<Move>[] = [
  fc.constantFrom(pass(0), pass(1)),
  fc.constantFrom(startOne(0), startOne(1)),
  fc.constantFrom(startOne(0), startOne(1)),
  fc.tuple(fc.nat(20), fc.constantFrom('succeeded' as const, 'succeeded' as const, 'failed' as const)).map(
    ([at, outcome]): Move => ({
      name: `end ${at} ${outcome}`,
      run: (model) => {
        const active = model.machines.filter(({ operation }) => operation === 'active');
        const machine = active[at % Math.max(1, active.length)];
        if (machine) machine.operation = outcome;
      },
    }),
  ),
];

const MOVES: readonly fc.Arbitrary<Move>[] = [
  fc.constantFrom(0, 1).map(
    (runner): Move => ({
      name: `crash ${runner}`,
      run: (model) => {
        model.hands[runner] = null;
      },
    }),
  ),
  fc.constantFrom(0, 1).map(
    (runner): Move => ({
      name: `take over ${runner}`,
      run: (model) => {
        if (model.holder === runner) return;
        model.holder = runner;
        model.epoch += 1;
      },
    }),
  ),
  fc.constant<Move>({
    name: 'pause',
    run: (model) =>
      act(model, () => {
        if (model.state === 'running') model.state = 'paused';
      }),
  }),
  fc.constant<Move>({
    name: 'resume',
    run: (model) =>
      act(model, () => {
        if (model.state !== 'paused' && model.state !== 'stopped') return;
        model.state = 'running';
        model.tally = NO_FAILURES;
      }),
  }),
  fc.integer({ min: 1, max: 4 }).map(
    (count): Move => ({
      name: `limits ${count}`,
      run: (model) =>
        act(model, () => {
          const running = model.counts().running;
          // What is under way is not undone where a limit becomes tighter, and nothing starts until it fits.
          const use = new Map<string, number>();
          for (const { state, groups } of model.machines)
            if (state === 'running') use.set(groups[0] ?? '', (use.get(groups[0] ?? '') ?? 0) + 1);
          model.loosest = Math.max(0, ...use.values());
          const limits = model.spec.limits.map((limit) => ({ ...limit, maxUnavailable: { count } }));
          model.spec = { ...model.spec, maxParallel: { count: Math.max(count, 1) }, limits };
          expect(running).toBeGreaterThanOrEqual(0);
        }),
    }),
  ),
  fc.constant<Move>({
    name: 'retry',
    run: (model) =>
      act(model, () => {
        if (model.state === 'aborting') return;
        for (const machine of model.machines) {
          if (machine.state !== 'failed') continue;
          machine.state = 'pending';
          machine.operation = null;
          machine.attempt += 1;
          const wave = model.waves[machine.wave - 1];
          if (wave && (wave.state === 'done' || wave.state === 'soaking')) wave.state = 'running';
        }
        model.tally = NO_FAILURES;
        if (model.state === 'stopped') model.state = 'running';
      }),
  }),
  fc.nat(20).map(
    (at): Move => ({
      name: `skip ${at}`,
      run: (model) =>
        act(model, () => {
          const machine = model.machines[at % model.machines.length];
          if (machine?.state === 'pending' || machine?.state === 'failed') machine.state = 'skipped';
        }),
    }),
  ),
  fc.constant<Move>({
    name: 'approve',
    run: (model) =>
      act(model, () => {
        const wave = model.waves.find(({ state }) => state === 'waiting_for_approval');
        if (wave) wave.approvedBy = 'operator:bob';
      }),
  }),
  fc.constant<Move>({
    name: 'time passes',
    run: (model) => {
      model.now += 1_000;
    },
  }),
];

const ABORT: Move = {
  name: 'abort',
  run: (model) =>
    act(model, () => {
      model.state = 'aborting';
      model.cancelPending();
    }),
};

const STEPS: readonly (readonly RolloutStep[])[] = [
  [{ verb: 'reboot' }],
  [{ verb: 'reboot' }, { verb: 'verify', filter: 'phase=READY', forMs: 0, timeoutMs: 1 }, { verb: 'drain' }],
];

const SPEC: fc.Arbitrary<RolloutSpec> = fc.record({
  name: fc.constant(''),
  filter: fc.constant(''),
  machineIds: fc.constant([]),
  follow: fc.constant(false),
  steps: fc.constantFrom(...STEPS),
  waves: fc.constant({ sizes: ['rest' as const] }),
  soakMs: fc.constantFrom(0, 1_500),
  gate: fc.constantFrom('automatic' as const, 'automatic' as const, 'approval' as const),
  gates: fc.constant([]),
  maxParallel: fc.option(fc.record({ count: fc.integer({ min: 1, max: 4 }) })),
  limits: fc.constantFrom([], [{ groupBy: 'pool', filter: '', maxUnavailable: { count: 1 } }]),
  stop: fc.record({
    afterFailures: fc.option(fc.integer({ min: 1, max: 3 })),
    failurePercent: fc.option(fc.constantFrom(10, 50)),
    sameError: fc.option(fc.integer({ min: 1, max: 3 })),
    poolDegraded: fc.constant(false),
    unhealthy: fc.constant(''),
    metrics: fc.constant([]),
    cancelRunning: fc.constant(false),
  }),
  windows: fc.constant([]),
  blackouts: fc.constant([]),
  startAt: fc.constant(null),
  deadline: fc.constant(null),
  reason: fc.constant(''),
  overrideBudget: fc.constant(false),
});

const RUN = fc.record({
  spec: SPEC,
  waves: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
  groups: fc.integer({ min: 1, max: 3 }),
  moves: fc.array(
    fc.oneof(
      { weight: 60, arbitrary: fc.oneof(...WORK) },
      { weight: 20, arbitrary: fc.oneof(...MOVES) },
      { weight: 1, arbitrary: fc.constant(ABORT) },
    ),
    { minLength: 40, maxLength: 160, size: 'max' },
  ),
});

function operationSteps({ steps }: RolloutSpec): number[] {
  return steps.flatMap((step, index) => (startsOperation(step) ? [index] : []));
}

/** Everyone is kind from now on: it must come to its end, and every machine to one of its own. */
function finish(model: Model): void {
  const [approve, resume] = [
    () => {
      for (const wave of model.waves) wave.approvedBy ||= 'operator:bob';
      model.epoch += 1;
    },
    () => {
      if (model.state === 'paused' || model.state === 'stopped') {
        model.state = 'running';
        model.tally = NO_FAILURES;
        model.epoch += 1;
      }
    },
  ];
  for (let round = 0; round < 500 && !isEnded(model.state); round += 1) {
    approve();
    resume();
    model.now += 1_000;
    model.holder = 0;
    pass(0).run(model);
    while ((model.hands[0]?.starts.length ?? 0) > 0) startOne(0).run(model);
    for (const machine of model.machines) if (machine.operation === 'active') machine.operation = 'succeeded';
  }
}

describe('whatever happens in whatever order', () => {
  it('limits, stop rules and exactly-once starts hold, and no machine is forgotten', () => {
    fc.assert(
      fc.property(RUN, ({ spec, waves, groups, moves }) => {
        const model = new Model(spec, waves, groups);
        for (const move of moves) move.run(model);
        finish(model);
        expect(isEnded(model.state)).toBe(true);
        const { pending, running, failed } = model.counts();
        expect([pending, running]).toEqual([0, 0]);
        for (const { machineId, state } of model.machines)
          if (state === 'succeeded') expect(model.stepsStarted(machineId)).toEqual(operationSteps(spec));
        if (model.state !== 'aborted') expect(model.state).toBe(failed > 0 ? 'failed' : 'succeeded');
      }),
      { numRuns: 300 },
    );
  });
});
