/** The rules that stop a rollout. Failures count from the last resume or retry. */
import type { StopRules } from './spec/rollout-spec.ts';

/** Failures since the last resume or retry. */
export interface FailureTally {
  readonly failures: number;
  readonly byCode: Readonly<Record<string, number>>;
  readonly byWave: Readonly<Record<string, number>>;
  /** What was bad already; null: what is bad when it is next read. */
  readonly known: readonly string[] | null;
}

export const NO_FAILURES: FailureTally = { failures: 0, byCode: {}, byWave: {}, known: null };

export function withFailure(tally: FailureTally, code: string, wave: number): FailureTally {
  return {
    ...tally,
    failures: tally.failures + 1,
    byCode: { ...tally.byCode, [code]: (tally.byCode[code] ?? 0) + 1 },
    byWave: { ...tally.byWave, [wave]: (tally.byWave[wave] ?? 0) + 1 },
  };
}

/** What the rules read of a wave. */
export interface WaveSize {
  readonly number: number;
  /** Its machines, without those that are not eligible. */
  readonly machines: number;
}

/** Why the rollout must stop, as a sentence; null: no rule holds. */
export function heldRule(rules: StopRules, tally: FailureTally, waves: readonly WaveSize[]): string | null {
  const { afterFailures, failurePercent, sameError } = rules;
  if (afterFailures !== null && tally.failures >= afterFailures)
    return `${tally.failures} ${machines(tally.failures)} failed, and it stops after ${afterFailures} (after_failures)`;
  const [code, count] = mostFrequent(tally.byCode);
  if (sameError !== null && count >= sameError)
    return `${count} ${machines(count)} failed with ${code}, and it stops at ${sameError} (same_error)`;
  if (failurePercent === null) return null;
  for (const { number, machines: size } of waves) {
    const failed = tally.byWave[number] ?? 0;
    if (failed * 100 > failurePercent * size)
      return `${failed} of ${size} ${machines(size)} of wave ${number} failed, more than ${failurePercent} % (failure_percent)`;
  }
  return null;
}

function machines(count: number): string {
  return count === 1 ? 'machine' : 'machines';
}

function mostFrequent(byCode: Readonly<Record<string, number>>): readonly [string, number] {
  return Object.entries(byCode).reduce<readonly [string, number]>(
    (best, entry) => (entry[1] > best[1] ? entry : best),
    ['', 0],
  );
}
