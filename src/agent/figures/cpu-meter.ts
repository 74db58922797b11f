/** CPU utilisation of the whole machine, between two readings of its counters. */
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { sleep } from '../../time/sleep.ts';

/** Time spent since boot, in any unit: only the ratio of differences matters. */
export interface CpuTimes {
  readonly busy: number;
  readonly total: number;
}

export interface CpuMeter {
  /** Per cent since the last reading; undefined if it can't be measured. */
  read(stop: AbortSignal): Promise<number | undefined>;
}

/** The kernel counts in hundredths of a second: in a shorter window the value is noise. */
const SHORTEST_WINDOW_MS = 250;

/** Starts the first window. */
export async function startCpuMeter(readTimes: () => Promise<CpuTimes> = readCpuTimes): Promise<CpuMeter> {
  let last = await readTimes();
  let lastAt = performance.now();
  return {
    async read(stop) {
      const passed = performance.now() - lastAt;
      if (passed < SHORTEST_WINDOW_MS) await sleep(SHORTEST_WINDOW_MS - passed, stop);
      const before = last;
      last = await readTimes();
      lastAt = performance.now();
      return utilisation(before, last);
    },
  };
}

/** Counters may decrease: the kernel documents it for iowait, and it happens in a suspended guest. */
export function utilisation(before: CpuTimes, after: CpuTimes): number | undefined {
  const total = after.total - before.total;
  if (!(total > 0)) return undefined;
  const share = Math.min(Math.max((after.busy - before.busy) / total, 0), 1);
  return Math.round(share * 1000) / 10;
}

async function readCpuTimes(): Promise<CpuTimes> {
  try {
    const times = parseProcStat(await readFile('/proc/stat', 'utf8'));
    if (times !== undefined) return times;
  } catch {
    // Not Linux, or no /proc.
  }
  return cpus().reduce<CpuTimes>(
    ({ busy, total }, { times: { user, nice, sys, irq, idle } }) => ({
      busy: busy + user + nice + sys + irq,
      total: total + user + nice + sys + irq + idle,
    }),
    { busy: 0, total: 0 },
  );
}

/** cpu user nice system idle iowait irq softirq steal guest guest_nice; user and nice include the guests' time. */
export function parseProcStat(text: string): CpuTimes | undefined {
  const line = /^cpu +(.*)$/m.exec(text)?.[1];
  const times = line?.trim().split(/ +/).slice(0, 8).map(Number);
  if (times === undefined || times.length < 4 || !times.every(Number.isFinite)) return undefined;
  const total = times.reduce((sum, time) => sum + time, 0);
  const [, , , idle = 0, iowait = 0] = times;
  return { busy: total - idle - iowait, total };
}
