/**
 * How long a rollout takes, from how long such operations took: each machine takes the sum of its steps, a wave as many rounds
 * as its limits make of its machines. Between waves come the soak time and, before a wave that someone approves, as long as
 * approvals took. A round starts inside a window, and waits for the next one otherwise.
 */
import type { OperationType } from '../operation/operation-type.ts';
import type { RolloutVerb } from './chain.ts';
import { nextClosing, nextOpening } from './open-window.ts';
import type { Gate, RolloutSpec, RolloutStep } from './spec/rollout-spec.ts';
import { operationTypeOf } from './spec/step-type.ts';

/** How long operations of a type took. */
export interface TypeDuration {
  readonly p50Seconds: number;
  readonly p90Seconds: number;
  readonly samples: number;
}

export interface DurationHistory {
  readonly types: ReadonlyMap<OperationType, TypeDuration>;
  /** How long waves waited for their approval; null: none did. */
  readonly approvals: TypeDuration | null;
}

export interface WaveEstimate {
  /** How many of its machines are one after the other. */
  readonly rounds: number;
  readonly gate: Gate;
}

export interface Estimate {
  readonly p50Seconds: number;
  readonly p90Seconds: number;
  readonly samples: number;
  /** Steps without history, which count as nothing. */
  readonly unknownSteps: readonly RolloutVerb[];
  /** Waves that someone approves: without a history of approvals they count as nothing. */
  readonly unknownGates: number;
}

/** A rollout that needs more of them is not estimated: it is wrong in another way. */
const MOST_WINDOWS = 400;

type Percentile = 'p50Seconds' | 'p90Seconds';

type Timing = Pick<RolloutSpec, 'steps' | 'soakMs' | 'windows' | 'blackouts'>;

/** From the first start on, which is at `startsAt`. Null without any history, and where there is no end in sight. */
export function estimateOf(
  spec: Timing,
  waves: readonly WaveEstimate[],
  history: DurationHistory,
  startsAt: Date,
): Estimate | null {
  const { steps } = spec;
  const unknown = steps.filter((step) => hasNoHistory(step, history));
  const types = new Set(steps.flatMap((step) => operationTypeOf(step) ?? []));
  const samples = [...types].reduce((sum, type) => sum + (history.types.get(type)?.samples ?? 0), 0);
  if (samples === 0) return null;
  const p50Seconds = secondsOf(spec, waves, { history, startsAt, percentile: 'p50Seconds' });
  const p90Seconds = secondsOf(spec, waves, { history, startsAt, percentile: 'p90Seconds' });
  if (p50Seconds === null || p90Seconds === null) return null;
  const gates = waves.filter(({ gate }) => gate !== 'automatic').length;
  return {
    p50Seconds,
    p90Seconds,
    samples,
    unknownSteps: [...new Set(unknown.map(({ verb }) => verb))],
    unknownGates: history.approvals === null ? gates : 0,
  };
}

interface Reckoning {
  readonly history: DurationHistory;
  readonly startsAt: Date;
  readonly percentile: Percentile;
}

function secondsOf(
  spec: Timing,
  waves: readonly WaveEstimate[],
  { history, startsAt, percentile }: Reckoning,
): number | null {
  const roundMs = machineSeconds(spec.steps, history, percentile) * 1000;
  const approvalMs = (history.approvals?.[percentile] ?? 0) * 1000;
  let at: Date | null = startsAt;
  for (const [index, { rounds, gate }] of waves.entries()) {
    const waitMs = (index === 0 ? 0 : spec.soakMs) + (gate === 'automatic' ? 0 : approvalMs);
    at = afterRounds(spec, { at: later(at, waitMs), rounds, roundMs });
    if (at === null) return null;
  }
  return Math.ceil((at.getTime() - startsAt.getTime()) / 1000);
}

interface Rounds {
  readonly at: Date;
  readonly rounds: number;
  readonly roundMs: number;
}

/** From window to window: in each as many rounds as start in it. Null: there is no end in sight. */
function afterRounds(spec: Timing, { at, rounds, roundMs }: Rounds): Date | null {
  let [now, left] = [at, rounds];
  for (let windows = 0; left > 0; windows += 1) {
    if (windows === MOST_WINDOWS) return null;
    const opens = nextOpening(spec, now);
    if (opens === null) return null;
    const closes = nextClosing(spec, opens);
    const fit = closes === null || roundMs === 0 ? left : (closes.getTime() - opens.getTime()) / roundMs;
    const started = Math.min(left, Math.ceil(fit));
    now = later(opens, started * roundMs);
    left -= started;
  }
  return now;
}

function later(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}

function hasNoHistory(step: RolloutStep, { types }: DurationHistory): boolean {
  const type = operationTypeOf(step);
  return type !== null && !types.has(type);
}

function machineSeconds(
  steps: readonly RolloutStep[],
  { types }: DurationHistory,
  percentile: Percentile,
): number {
  return steps.reduce((sum, step) => {
    if (step.verb === 'verify') return sum + step.forMs / 1000;
    const type = operationTypeOf(step);
    return sum + (type === null ? 0 : (types.get(type)?.[percentile] ?? 0));
  }, 0);
}

/** A group of a limit, as a wave has it. */
export interface GroupInWave {
  readonly machines: number;
  readonly allowed: number;
}

/** How many machines of a wave are one after the other at least, where each limit is used to the full. */
export function roundsOf(machines: number, parallel: number | null, groups: readonly GroupInWave[]): number {
  if (machines === 0) return 0;
  const byParallel = Math.ceil(machines / Math.max(1, parallel ?? machines));
  const byGroups = groups.map(({ machines: members, allowed }) => Math.ceil(members / Math.max(1, allowed)));
  return Math.max(1, byParallel, ...byGroups);
}
