/** A disk of a few megabytes that can be filled up and emptied: a tmpfs, which only root can mount. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PIECE = Buffer.alloc(64 * 1024, 1);

export class SmallDisk {
  readonly path: string;
  readonly #filler: string;

  private constructor(path: string) {
    this.path = path;
    this.#filler = join(path, 'filler');
  }

  static mount(megabytes: number): SmallDisk {
    const path = mkdtempSync(join(tmpdir(), 'ingot-small-disk-'));
    const options = `size=${megabytes}m,mode=755`;
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { encoding: 'utf8' });
    if (mounted.status !== 0) {
      rmdirSync(path);
      throw new Error(`a tmpfs can not be mounted: ${mounted.stderr.trim()}`);
    }
    return new SmallDisk(path);
  }

  /** To the last byte. */
  fill(): void {
    const file = openSync(this.#filler, 'a');
    try {
      for (const piece of [PIECE, PIECE.subarray(0, 1)]) while (written(file, piece));
    } finally {
      closeSync(file);
    }
  }

  empty(): void {
    rmSync(this.#filler, { force: true });
  }

  unmount(): void {
    spawnSync('umount', ['-l', this.path]);
    rmdirSync(this.path);
  }
}

function written(file: number, piece: Buffer): boolean {
  try {
    return writeSync(file, piece) > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
