/** Figures of rounds: medians, ranges, and the ratios that noise of the machine hits on both sides. */

export const UNITS = {
  perSecond: { better: 'more', show: (value: number) => `${rounded(value)}/s` },
  ms: { better: 'less', show: (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ms` },
  MB: { better: 'less', show: (value: number) => `${rounded(value)} MB` },
  share: { better: 'less', show: (value: number) => `${(value * 100).toFixed(1)} %` },
} as const;

export type Unit = keyof typeof UNITS;

/** What one round of one build gave. */
export interface Figure {
  readonly what: string;
  readonly unit: Unit;
  readonly value: number;
  /** Measured beside it, in the same round: what the value is a ratio of. */
  readonly base?: { readonly of: string; readonly value: number };
}

export interface Goal {
  /** Of the base, or of the other build: at least. */
  readonly ofBase?: number;
  readonly ofOther?: number;
  /** In its own unit. */
  readonly atMost?: number;
}

export type Verdict = 'reached' | 'not reached';

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export interface Row {
  readonly what: string;
  readonly unit: Unit;
  readonly ours: Spread;
  readonly base?: { readonly of: string; readonly ratio: Spread };
  readonly other?: { readonly value: Spread; readonly ofBase?: Spread; readonly ratio: Spread };
  readonly goal?: Goal;
  readonly verdict?: Verdict;
}

export const rounded = (value: number): string => Math.round(value).toLocaleString('en');

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/** Each element of one round divided by that of the same round. */
export function ratios(above: readonly number[], below: readonly number[]): number[] {
  const rounds = Math.min(above.length, below.length);
  return Array.from({ length: rounds }, (_none, at) => (above[at] ?? Number.NaN) / (below[at] ?? Number.NaN));
}

/** Figures as they come in, by what they are of, for each build. */
export class Figures {
  readonly #of = new Map<string, { ours: Figure[]; other: Figure[] }>();

  add(side: 'ours' | 'other', figures: readonly Figure[]): void {
    for (const figure of figures) {
      const sides = this.#of.get(figure.what) ?? { ours: [], other: [] };
      sides[side].push(figure);
      this.#of.set(figure.what, sides);
    }
  }

  rows(goals: Readonly<Record<string, Goal>>): Row[] {
    return [...this.#of].flatMap(([what, sides]) => {
      const row = rowOf(what, sides, goals[what]);
      return row === null ? [] : [row];
    });
  }
}

function rowOf(
  what: string,
  { ours, other }: { ours: readonly Figure[]; other: readonly Figure[] },
  goal: Goal | undefined,
): Row | null {
  const [first] = ours;
  if (first === undefined) return null;
  const values = ours.map(({ value }) => value);
  const others = other.map(({ value }) => value);
  const toBase = baseRatios(ours);
  const otherToBase = baseRatios(other);
  const row: Row = {
    what,
    unit: first.unit,
    ours: spread(values),
    ...(first.base && toBase.length > 0 && { base: { of: first.base.of, ratio: spread(toBase) } }),
    ...(others.length > 0 && {
      other: {
        value: spread(others),
        ...(otherToBase.length > 0 && { ofBase: spread(otherToBase) }),
        ratio: spread(ratios(values, others)),
      },
    }),
    ...(goal && { goal }),
  };
  const verdict = verdictOf(row);
  return verdict === null ? row : { ...row, verdict };
}

function baseRatios(figures: readonly Figure[]): number[] {
  return figures.flatMap(({ value, base }) => (base === undefined ? [] : [value / base.value]));
}

/** Null: there is no goal, or not what it is compared with. */
function verdictOf({ goal, ours, base, other }: Row): Verdict | null {
  const checks: boolean[] = [];
  if (goal?.atMost !== undefined) checks.push(ours.median <= goal.atMost);
  if (goal?.ofBase !== undefined && base !== undefined) checks.push(base.ratio.median >= goal.ofBase);
  if (goal?.ofOther !== undefined && other !== undefined) checks.push(other.ratio.median >= goal.ofOther);
  if (checks.length === 0) return null;
  return checks.every((check) => check) ? 'reached' : 'not reached';
}

const showSpread = ({ median: middle, least, most }: Spread, show: (value: number) => string): string =>
  least === most ? show(middle) : `${show(middle)} (${show(least)} to ${show(most)})`;

export function showRow(row: Row, otherName: string | null): string[] {
  const { show } = UNITS[row.unit];
  const ratio = (value: number) => value.toFixed(2);
  const lines = [`${row.what.padEnd(66)} ${showSpread(row.ours, show)}`];
  const add = (label: string, text: string) => lines.push(`  ${label.padEnd(64)} ${text}`);
  if (row.base) add(`of ${row.base.of}`, showSpread(row.base.ratio, ratio));
  if (row.other && otherName !== null) {
    const ofBase = row.other.ofBase
      ? `, ${ratio(row.other.ofBase.median)} of ${row.base?.of ?? 'the same'}`
      : '';
    add(`at ${otherName}`, `${showSpread(row.other.value, show)}${ofBase}`);
    add(`ratio to ${otherName}`, showSpread(row.other.ratio, ratio));
  }
  if (row.goal && row.verdict) add(`goal: ${goalText(row.goal, row, otherName)}`, row.verdict);
  return lines;
}

function goalText(goal: Goal, row: Row, otherName: string | null): string {
  const parts: string[] = [];
  if (goal.atMost !== undefined) parts.push(`at most ${UNITS[row.unit].show(goal.atMost)}`);
  if (goal.ofBase !== undefined && row.base) parts.push(`${goal.ofBase} of ${row.base.of}`);
  if (goal.ofOther !== undefined && otherName !== null) parts.push(`${goal.ofOther} of ${otherName}`);
  return parts.join(', ');
}
