import { readFile } from 'node:fs/promises';
import { freemem, totalmem } from 'node:os';

export interface Memory {
  readonly totalKiB: number;
  /** What a new process can get, including reclaimable caches. */
  readonly availableKiB: number;
}

export async function readMemory(): Promise<Memory> {
  try {
    const memory = parseMeminfo(await readFile('/proc/meminfo', 'utf8'));
    if (memory !== undefined) return memory;
  } catch {
    // Not Linux, or no /proc.
  }
  return { totalKiB: Math.floor(totalmem() / 1024), availableKiB: Math.floor(freemem() / 1024) };
}

export function parseMeminfo(text: string): Memory | undefined {
  const kiB = (name: string): number => Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(text)?.[1]);
  const memory = { totalKiB: kiB('MemTotal'), availableKiB: kiB('MemAvailable') };
  return memory.totalKiB > 0 && memory.availableKiB >= 0 ? memory : undefined;
}

export function memoryUtilisation({ totalKiB, availableKiB }: Memory): number {
  const used = Math.min(Math.max(1 - availableKiB / totalKiB, 0), 1);
  return Math.round(used * 1000) / 10;
}
