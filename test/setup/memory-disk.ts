import { statfsSync } from 'node:fs';

const MEMORY_DISK = '/dev/shm';
const TMPFS = 0x01021994;
const NEEDED_BYTES = 2 * 1024 ** 3;

/** A folder in memory, where the host has one with room; null elsewhere. Containers often have one of 64 MB. */
export function memoryDisk(): string | null {
  try {
    const { type, bavail, bsize } = statfsSync(MEMORY_DISK);
    return type === TMPFS && bavail * bsize >= NEEDED_BYTES ? MEMORY_DISK : null;
  } catch {
    return null;
  }
}
