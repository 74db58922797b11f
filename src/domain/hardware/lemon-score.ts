/**
 * How much trouble a machine was in the last 90 days, from 0 to 100, with the reasons in words. A machine that is repaired again and
 * again by reimaging it shows here. Each kind of trouble has points for each time and at most so many, so that one noisy sensor is
 * no lemon, and one uncorrectable memory error already is worth a look.
 */

export const LEMON_DAYS = 90;
const MAX_SCORE = 100;

interface Factor {
  readonly one: string;
  readonly many: string;
  readonly points: number;
  readonly most: number;
}

/** Every kind of trouble, in the order of the issue that the table answers: operations, memory, log, reboots, changes. */
export const LEMON_FACTORS = {
  failed_operations: { one: 'failed operation', many: 'failed operations', points: 5, most: 30 },
  memory_uncorrectable: {
    one: 'uncorrectable memory error',
    many: 'uncorrectable memory errors',
    points: 20,
    most: 40,
  },
  memory_correctable: {
    one: 'correctable memory error',
    many: 'correctable memory errors',
    points: 1,
    most: 15,
  },
  critical_entries: {
    one: 'other critical entry in the hardware log',
    many: 'other critical entries in the hardware log',
    points: 8,
    most: 30,
  },
  warning_entries: {
    one: 'other warning in the hardware log',
    many: 'other warnings in the hardware log',
    points: 1,
    most: 10,
  },
  unexpected_reboots: { one: 'unexpected reboot', many: 'unexpected reboots', points: 8, most: 32 },
  hardware_changes: { one: 'change of its hardware', many: 'changes of its hardware', points: 4, most: 16 },
} as const satisfies Record<string, Factor>;

export type LemonFactor = keyof typeof LEMON_FACTORS;
export const LEMON_FACTOR_NAMES = Object.keys(LEMON_FACTORS) as LemonFactor[];

/** How often each happened in the last 90 days. */
export type LemonFacts = Readonly<Record<LemonFactor, number>>;

export interface LemonScore {
  readonly score: number;
  /** The worst first: "2 uncorrectable memory errors (40 points)". */
  readonly reasons: readonly string[];
}

export function lemonScore(facts: LemonFacts): LemonScore {
  const found = LEMON_FACTOR_NAMES.map((name) => {
    const { one, many, points, most } = LEMON_FACTORS[name];
    const times = facts[name];
    return { text: `${times} ${times === 1 ? one : many}`, points: Math.min(times * points, most) };
  })
    .filter(({ points }) => points > 0)
    .toSorted((left, right) => right.points - left.points);
  const sum = found.reduce((total, { points }) => total + points, 0);
  return {
    score: Math.min(sum, MAX_SCORE),
    reasons: found.map(({ text, points }) => `${text} (${points} ${points === 1 ? 'point' : 'points'})`),
  };
}
