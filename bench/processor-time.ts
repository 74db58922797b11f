/** What a process uses of processors and memory, as Linux counts it. */
import { readdirSync, readFileSync } from 'node:fs';

/** Processor seconds of a process; with those of its children, and of the ones that are over. */
export function cpuSeconds(pid: number, family: 'alone' | 'with children'): number {
  const own = ticksOf(pid);
  if (own === null) return 0;
  if (family === 'alone') return own.ticks / 100;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ticksOf(Number(name)))
    .filter((child) => child?.parent === pid);
  const living = children.reduce((sum, child) => sum + (child?.ticks ?? 0), 0);
  return (own.ticks + own.waitedFor + living) / 100;
}

function ticksOf(pid: number): { parent: number; ticks: number; waitedFor: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [parent = 0, user = 0, system = 0, childUser = 0, childSystem = 0] = [1, 11, 12, 13, 14].map(
      (index) => fields[index] ?? 0,
    );
    return { parent, ticks: user + system, waitedFor: childUser + childSystem };
  } catch {
    return null;
  }
}

/** Memory of a process that is not swapped out; 0 when it is over. */
export function residentMB(pid: number): number {
  try {
    const [, kB = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return Number(kB) / 1024;
  } catch {
    return 0;
  }
}
