/**
 * The one decision of a rollout: a pure function of what is stored and of the clock. The order is what makes it safe: first
 * what has ended is counted, then the stop rules are asked, then waves move, and only then machines start. The caller
 * writes everything but the starts in the transaction in which it read the view, and starts behind a fence that falls when
 * anyone changes the rollout in between (src/reconcilers/rollout-runner/).
 */

import { isOpenAt, nextOpening } from '../open-window.ts';
import type { MachineCounts, RolloutState } from '../rollout.ts';
import { isEnded, machinesIn } from '../rollout-state.ts';
import { allowedOf } from '../spec/amount.ts';
import { type FailureTally, heldRule, withFailure } from '../stop-rule.ts';
import { waitSentence } from '../wait-sentence.ts';
import { movesOfMachines, startsOperation } from './decide-machines.ts';
import { decideWaves, wavesAtEnd } from './decide-waves.ts';
import type {
  MachineInView,
  MachineMove,
  PassDecision,
  PassView,
  StartOrder,
  WaveInView,
} from './pass-view.ts';

export function decidePass(view: PassView): PassDecision {
  const moves = movesOfMachines(view);
  const { known, bad } = newFinding(view);
  const tally = moves.filter(({ to }) => to === 'failed').reduce(counted, { ...view.tally, known });
  const counts = countsAfter(view.waves, moves);
  const { state, reason } = stateAfter({ ...view, bad }, tally, counts);
  const decided = decideWaves(counts, {
    ...view,
    mayOpen: state === 'running' && !isPast(view.spec.deadline, view.now) ? 'yes' : 'no',
  });
  const { waves } = decided;
  const totals = totalsAfter(view.totals, moves);
  const end = endOf(view, state, waves, totals);
  const starts = end === null && state === 'running' ? startsOf(view, waves, moves) : [];
  const after = end ?? state;
  return {
    state: after,
    reason,
    tally,
    moves: [
      ...moves,
      ...starts.filter((order) => !isOperation(view, order)).map((order) => runningMove(order, view)),
    ],
    waves: end === null ? decided.moves : wavesAtEnd(counts, decided),
    starts: starts.filter((order) => isOperation(view, order)),
    cancelPending: pendingEndOf(after),
    waitingFor: waitSentence({ ...view, state: after, reason, waves, totals, starts: starts.length }),
    dueAt: isEnded(after) ? null : dueAt(view, waves),
  };
}

/** What was bad when the rollout started, or went on, does not stop it. */
function newFinding({ findings, tally }: PassView): Pick<FailureTally, 'known'> & { readonly bad: string } {
  if (findings === null) return { known: tally.known, bad: '' };
  const known = tally.known ?? findings.map(({ key }) => key);
  return { known, bad: findings.find(({ key }) => !known.includes(key))?.sentence ?? '' };
}

function counted(tally: FailureTally, { errorCode, wave }: MachineMove): FailureTally {
  return withFailure(tally, errorCode, wave);
}

function isOperation({ spec }: PassView, { step }: StartOrder): boolean {
  return startsOperation(spec.steps[step]);
}

/** A machine whose first step only observes is under way at once. */
function runningMove({ machineId, wave, step, from }: StartOrder, { now }: PassView): MachineMove {
  return {
    machineId,
    wave,
    step,
    from,
    to: 'running',
    errorCode: '',
    message: '',
    matchesSince: null,
    stepSince: now,
  };
}

function countsAfter(waves: readonly WaveInView[], moves: readonly MachineMove[]): WaveInView[] {
  return waves.map((wave) => {
    const own = moves.filter((move) => move.wave === wave.number);
    return own.length === 0 ? wave : { ...wave, machines: totalsAfter(wave.machines, own) };
  });
}

function totalsAfter(before: MachineCounts, moves: readonly MachineMove[]): MachineCounts {
  const counts = { ...before };
  for (const { from, to } of moves) {
    counts[from] -= 1;
    counts[to] += 1;
  }
  return counts;
}

function stateAfter(
  view: PassView & { readonly bad: string },
  tally: FailureTally,
  waves: readonly WaveInView[],
): { readonly state: RolloutState; readonly reason: string } {
  const { spec, now } = view;
  const started = view.state === 'scheduled' && (spec.startAt === null || isPast(spec.startAt, now));
  const state = started ? 'running' : view.state;
  if (state !== 'running') return { state, reason: view.reason };
  const sizes = waves.map(({ number, machines }) => ({ number, machines: machinesIn(machines) }));
  const held = heldRule(spec.stop, tally, sizes) ?? view.bad;
  return held === '' ? { state, reason: view.reason } : { state: 'stopped', reason: held };
}

/** The state that it ends in now; null: it goes on. */
function endOf(
  { spec, now }: PassView,
  state: RolloutState,
  waves: readonly WaveInView[],
  totals: MachineCounts,
): RolloutState | null {
  if (totals.running > 0) return null;
  if (state === 'aborting') return 'aborted';
  const result = totals.failed > 0 ? 'failed' : 'succeeded';
  if (isPast(spec.deadline, now)) return totals.pending > 0 ? 'expired' : result;
  if (state === 'running' && waves.every((wave) => wave.state === 'done')) return result;
  // A rule that held with the last machine has nothing left to stop.
  if (state === 'stopped' && totals.pending === 0 && !spec.follow) return result;
  return null;
}

function pendingEndOf(state: RolloutState): string {
  if (state === 'expired') return 'the deadline of the rollout passed before its turn';
  return state === 'aborted' ? 'the rollout was aborted before its turn' : '';
}

/** Chains go on while the rollout runs; new machines start only inside windows, limits and the deadline. */
function startsOf(view: PassView, waves: readonly WaveInView[], moves: readonly MachineMove[]): StartOrder[] {
  const { spec, now } = view;
  const next: StartOrder[] = [...view.continuing, ...advanced(view, moves)].map((machine) => ({
    ...machine,
    from: 'running' as const,
  }));
  if (isPast(spec.deadline, now) || !isOpenAt(spec, now)) return next;
  const running = waves.reduce((sum, { machines }) => sum + machines.running, 0);
  const free = parallelOf(view) - running;
  const open = new Set(waves.flatMap(({ state, number }) => (state === 'running' ? [number] : [])));
  const fits = groupFit(view, moves);
  const fresh: StartOrder[] = [];
  for (const machine of view.candidates) {
    if (fresh.length >= free) break;
    if (open.has(machine.wave) && fits(machine)) fresh.push({ ...machine, from: 'pending' });
  }
  return [...next, ...fresh];
}

/** Machines that this pass moves to a step with an operation. */
function advanced({ ended, observed, spec }: PassView, moves: readonly MachineMove[]): MachineInView[] {
  const known = new Map([...ended, ...observed].map((machine) => [machine.machineId, machine]));
  return moves.flatMap(({ machineId, to, step }) => {
    const before = known.get(machineId);
    const goesOn = before !== undefined && to === 'running' && step !== before.step;
    if (!goesOn || !startsOperation(spec.steps[step])) return [];
    const { wave, attempt, groups } = before;
    return [{ machineId, wave, step, attempt, groups }];
  });
}

export function parallelOf({ spec, totals }: Pick<PassView, 'spec' | 'totals'>): number {
  return spec.maxParallel === null
    ? Number.POSITIVE_INFINITY
    : allowedOf(spec.maxParallel, machinesIn(totals));
}

/**
 * Whether one more machine of a group may be under way; counts those that it let pass. Only numbers are judged here: shares, and
 * machines that are unavailable for other reasons, are judged in the transaction of the start.
 */
function groupFit({ spec, underWay, ended, observed }: PassView, moves: readonly MachineMove[]) {
  const limits = spec.limits.map(({ maxUnavailable }) =>
    'count' in maxUnavailable ? maxUnavailable.count : null,
  );
  const use = limits.map((_, index) => new Map(underWay[index]));
  const known = new Map([...ended, ...observed].map((machine) => [machine.machineId, machine]));
  for (const { machineId, to } of moves)
    if (to !== 'running')
      known.get(machineId)?.groups.forEach((group, index) => {
        const groups = use[index];
        groups?.set(group, (groups.get(group) ?? 0) - 1);
      });
  return ({ groups }: MachineInView): boolean => {
    const fits = limits.every(
      (limit, index) => limit === null || !groups[index] || (use[index]?.get(groups[index]) ?? 0) < limit,
    );
    if (fits)
      use.forEach((inUse, index) => {
        const group = groups[index] ?? '';
        inUse.set(group, (inUse.get(group) ?? 0) + 1);
      });
    return fits;
  };
}

function isPast(time: Date | null, now: Date): boolean {
  return time !== null && time <= now;
}

/** The next time at which the clock alone changes something. */
function dueAt({ spec, state, now }: PassView, waves: readonly WaveInView[]): Date | null {
  const times = [
    state === 'scheduled' ? spec.startAt : null,
    spec.deadline,
    ...waves.map(({ soaksUntil, state: of }) => (of === 'soaking' ? soaksUntil : null)),
    isOpenAt(spec, now) ? null : nextOpening(spec, now),
  ].flatMap((time) => (time !== null && time > now ? [time.getTime()] : []));
  return times.length === 0 ? null : new Date(Math.min(...times));
}
