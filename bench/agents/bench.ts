/** What the parts of the bench share: who is running, and how a figure is shown. */
import type pg from 'pg';
import { cpuSeconds } from '../processor-time.ts';
import type { LoadResult } from './load.ts';
import type { Processes, Sender, Serving } from './processes.ts';

export interface Bench {
  readonly processes: Processes;
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly sql: pg.Pool;
  readonly postgresPid: number;
  readonly sender: Sender;
  server: Serving;
}

export function show(what: string, value: string): void {
  console.log(`${what.padEnd(66)} ${value}`);
}

export const rounded = (value: number): string => Math.round(value).toLocaleString('en');
export const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

export function median(values: readonly number[]): number {
  return share(Float64Array.from(values), 0.5);
}

/** The value that this share of the values is below. */
export function share(values: Float64Array, part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export function quantiles(took: Float64Array): string {
  return `p50 ${ms(share(took, 0.5))}, p99 ${ms(share(took, 0.99))}, max ${ms(share(took, 1))}`;
}

/** Counts the processor time of some processes from here on. */
export function meter(pids: Readonly<Record<string, readonly number[]>>) {
  const used = () =>
    Object.fromEntries(
      Object.entries(pids).map(([name, ids]) => [
        name,
        ids.reduce((sum, pid) => sum + cpuSeconds(pid, 'with children'), 0),
      ]),
    );
  const before = used();
  const startedAt = performance.now();
  return () => {
    const after = used();
    const seconds = (performance.now() - startedAt) / 1000;
    const cpu = Object.fromEntries(
      Object.keys(pids).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]),
    );
    return { seconds, cpu };
  };
}

/** "server 41 %, PostgreSQL 12 %": of one core. */
export function ofOneCore({ seconds, cpu }: ReturnType<ReturnType<typeof meter>>): string {
  return Object.entries(cpu)
    .map(([name, used]) => `${name} ${Math.round((used / seconds) * 100)} %`)
    .join(', ');
}

export function failuresOf(result: readonly LoadResult[]): string {
  const refused = result.flatMap((one) => Object.entries(one.refused));
  const unanswered = result.reduce((sum, one) => sum + one.unanswered, 0);
  const statuses = new Map<string, number>();
  for (const [status, count] of refused) statuses.set(status, (statuses.get(status) ?? 0) + count);
  const parts = [...statuses].map(([status, count]) => `${rounded(count)} answered ${status}`);
  if (unanswered > 0) parts.push(`${rounded(unanswered)} unanswered`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

export function joined(arrays: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(arrays.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const one of arrays) {
    all.set(one, at);
    at += one.length;
  }
  return all;
}

export async function expiredEvents({ sql }: Bench): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM events WHERE kind = 'presence' AND to_state = 'expired'`,
  );
  return rows[0]?.count ?? 0;
}
