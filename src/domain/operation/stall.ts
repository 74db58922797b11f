/**
 * A step that takes longer than 99 % of the steps of its kind with its provider took. It is only reported: a step that is slow
 * may still end well, and its time limit is what fails it.
 */
import { elapsedText } from '../machine/headline.ts';
import type { OperationType } from './operation-type.ts';

/** How long steps of a kind took with a provider. */
export interface StepDurations {
  readonly p50Seconds: number;
  readonly p99Seconds: number;
  readonly samples: number;
}

export interface RunningStep {
  readonly operationId: string;
  readonly machineId: string;
  readonly type: OperationType;
  readonly step: string;
  readonly kind: string;
  readonly provider: string;
  readonly startedAt: Date;
}

export interface Stall extends RunningStep {
  readonly usual: StepDurations;
}

/** With fewer, the slowest of them is all that is known of the slowest percent. */
const FEWEST_SAMPLES = 20;
/** Steps of a second vary by more than their length. */
const SHORTEST_MS = 10_000;

export function stallOf(step: RunningStep, usual: StepDurations | undefined, now: Date): Stall | null {
  if (usual === undefined || usual.samples < FEWEST_SAMPLES) return null;
  const elapsedMs = now.getTime() - step.startedAt.getTime();
  return elapsedMs > Math.max(SHORTEST_MS, usual.p99Seconds * 1000) ? { ...step, usual } : null;
}

/** "slower than 99 % of its history: 14 min, usually 3 min" */
export function stallText({ startedAt, usual }: Pick<Stall, 'startedAt' | 'usual'>, now: Date): string {
  const elapsed = elapsedText(now.getTime() - startedAt.getTime());
  return `slower than 99 % of its history: ${elapsed}, usually ${elapsedText(usual.p50Seconds * 1000)}`;
}
