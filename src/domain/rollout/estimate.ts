/**
 * How long a rollout takes, from how long such operations took: each machine takes the sum of its steps, a wave as many rounds
 * as its limits make of its machines, and the soak time comes between waves. Gates and windows are not in it: people decide how
 * long they take.
 */
import type { OperationType } from '../operation/operation-type.ts';
import type { RolloutVerb } from './chain.ts';
import type { RolloutSpec, RolloutStep } from './rollout-spec.ts';
import { operationTypeOf } from './step-type.ts';

/** How long operations of a type took. */
export interface TypeDuration {
  readonly p50Seconds: number;
  readonly p90Seconds: number;
  readonly samples: number;
}

export type DurationsByType = ReadonlyMap<OperationType, TypeDuration>;

export interface Estimate {
  readonly p50Seconds: number;
  readonly p90Seconds: number;
  readonly samples: number;
  /** Steps without history, which count as nothing. */
  readonly unknownSteps: readonly RolloutVerb[];
}

/** Null without any history. `rounds` has, for each wave, how many machines are one after the other. */
export function estimateOf(
  { steps, soakMs }: Pick<RolloutSpec, 'steps' | 'soakMs'>,
  rounds: readonly number[],
  durations: DurationsByType,
): Estimate | null {
  const unknown = steps.filter((step) => hasNoHistory(step, durations));
  const types = new Set(steps.flatMap((step) => operationTypeOf(step) ?? []));
  const samples = [...types].reduce((sum, type) => sum + (durations.get(type)?.samples ?? 0), 0);
  if (samples === 0) return null;
  const allRounds = rounds.reduce((sum, round) => sum + round, 0);
  const soakSeconds = (soakMs / 1000) * Math.max(0, rounds.length - 1);
  const total = (percentile: 'p50Seconds' | 'p90Seconds') =>
    Math.ceil(allRounds * machineSeconds(steps, durations, percentile) + soakSeconds);
  return {
    p50Seconds: total('p50Seconds'),
    p90Seconds: total('p90Seconds'),
    samples,
    unknownSteps: [...new Set(unknown.map(({ verb }) => verb))],
  };
}

function hasNoHistory(step: RolloutStep, durations: DurationsByType): boolean {
  const type = operationTypeOf(step);
  return type !== null && !durations.has(type);
}

function machineSeconds(
  steps: readonly RolloutStep[],
  durations: DurationsByType,
  percentile: 'p50Seconds' | 'p90Seconds',
): number {
  return steps.reduce((sum, step) => {
    if (step.verb === 'verify') return sum + step.forMs / 1000;
    const type = operationTypeOf(step);
    return sum + (type === null ? 0 : (durations.get(type)?.[percentile] ?? 0));
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
