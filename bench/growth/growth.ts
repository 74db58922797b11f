/**
 * From milliseconds of calls in fleets of several sizes to factors and verdicts. The least of the rounds counts: what a call needs is in each of
 * them, and what other work took from the processors is not in all. Medians of a busy machine differ by more than what is looked for.
 */
import { rounded } from '../rig/figures.ts';
import type { Use } from './call.ts';

/** What a call that is needed every day may grow by, from the smallest fleet to the largest. */
const MOST_GROWTH = 1.3;

export interface Measured {
  readonly name: string;
  readonly use: Use;
  /** By fleet, in the order of the fleets: the milliseconds of each round. */
  readonly times: readonly (readonly number[])[];
  /** Null: every call was answered. */
  readonly failure: string | null;
}

export interface GrowthRow {
  readonly name: string;
  readonly use: Use;
  /** The least of the rounds, in the order of the fleets. */
  readonly ms: readonly number[];
  readonly factor: number;
  readonly verdict: 'flat' | 'grows' | 'grows, as it reads all' | 'grows, and is seldom' | 'failed';
  readonly failure: string | null;
}

const VERDICTS = {
  daily: 'grows',
  seldom: 'grows, and is seldom',
  whole: 'grows, as it reads all',
} as const satisfies Record<Use, GrowthRow['verdict']>;

export function growthOf({ name, use, times, failure }: Measured): GrowthRow {
  const ms = times.map((rounds) => (rounds.length === 0 ? Number.NaN : Math.min(...rounds)));
  const factor = (ms.at(-1) ?? Number.NaN) / (ms[0] ?? Number.NaN);
  if (failure !== null) return { name, use, ms, factor, verdict: 'failed', failure };
  return { name, use, ms, factor, verdict: factor > MOST_GROWTH ? VERDICTS[use] : 'flat', failure };
}

const shown = (ms: number) => (Number.isNaN(ms) ? '-' : ms.toFixed(ms < 100 ? 2 : 0));

export function showHead(machines: readonly number[]): string {
  const sizes = machines.map((count) => rounded(count).padStart(10));
  return `${'ms, the least, at'.padEnd(66)}${sizes.join('')}    factor`;
}

export function showGrowth(row: GrowthRow): string {
  const times = row.ms.map((value) => shown(value).padStart(10)).join('');
  return `${row.name.padEnd(66)}${times}${shown(row.factor).padStart(10)}  ${row.failure ?? row.verdict}`;
}

/** The rows that say that something must be done. */
export function defects(rows: readonly GrowthRow[]): GrowthRow[] {
  return rows.filter(({ verdict }) => verdict === 'grows' || verdict === 'failed');
}
