/**
 * The files of images: one for each digest in the data directory, so that an image that is replaced while a machine
 * reads it stays whole for that machine. Uploads come in pieces: a single long request could hold a connection for
 * any time, and pieces can be resumed.
 */
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../domain/error/fault.ts';
import { lockFile } from '../embedded/data-dir-lock.ts';
import { FileDigests, hashFile } from './file-digests.ts';

export interface Piece {
  readonly sha256: string;
  readonly start: number;
  readonly totalBytes: number;
  readonly bytes: Buffer;
}

export class ImageFiles {
  readonly root: string;
  /** Uploads that a request of this process is writing; a lock file tells other workers. */
  readonly #busy = new Set<string>();
  readonly #digests = new FileDigests();

  constructor(dataDir: string) {
    this.root = join(dataDir, 'images');
  }

  /** How many bytes of an upload are stored. */
  async uploaded(sha256: string): Promise<number> {
    const whole = join(this.root, sha256);
    // A file that was changed is uploaded again from its start.
    if ((await this.#digests.of(whole)) === sha256) return (await sizeOf(whole)) ?? 0;
    return (await sizeOf(this.#part(sha256))) ?? 0;
  }

  /** True: this was the last piece, and the file matches its digest. */
  async append(piece: Piece): Promise<boolean> {
    const { sha256 } = piece;
    if (this.#busy.has(sha256)) throw uploadBusy();
    this.#busy.add(sha256);
    try {
      await mkdir(this.root, { recursive: true, mode: 0o700 });
      const lock = await lockFile(`${this.#part(sha256)}.lock`);
      if ('holder' in lock) throw uploadBusy();
      try {
        return await this.#append(piece);
      } finally {
        lock.release();
      }
    } finally {
      this.#busy.delete(sha256);
    }
  }

  /** Refuses a file that is not the image any more. It is read again only when it was changed since the last time. */
  async checkUnchanged(sha256: string): Promise<void> {
    const found = await this.#digests.of(join(this.root, sha256));
    if (found === null || found === sha256) return;
    throw new Fault('IMAGE_CHANGED', {
      message: `the file of the image was changed: its digest is ${found}, not ${sha256}; upload the image again`,
      metadata: { expected: sha256, found },
    });
  }

  /** The first bytes of a complete image. */
  async head(sha256: string, length: number): Promise<Buffer> {
    const file = await open(join(this.root, sha256));
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  async remove(sha256: string): Promise<void> {
    await rm(join(this.root, sha256), { force: true });
  }

  #part(sha256: string): string {
    return join(this.root, `${sha256}.part`);
  }

  async #append({ sha256, start, totalBytes, bytes }: Piece): Promise<boolean> {
    const whole = join(this.root, sha256);
    if ((await sizeOf(whole)) === totalBytes && (await this.#digests.of(whole)) === sha256) return true;
    const part = this.#part(sha256);
    const there = (await sizeOf(part)) ?? 0;
    if (start > there) {
      throw new Fault('UPLOAD_GAP', {
        message: `the next piece must begin at byte ${there}`,
        metadata: { offset: String(there) },
      });
    }
    const file = await open(part, start === 0 ? 'w' : 'r+', 0o600);
    try {
      await file.write(bytes, 0, bytes.length, start);
      await file.truncate(start + bytes.length);
      if (start + bytes.length < totalBytes) return false;
      await file.sync();
    } finally {
      await file.close();
    }
    const found = await hashFile(part);
    if (found !== sha256) {
      await rm(part, { force: true });
      throw new Fault('DIGEST_MISMATCH', {
        message: `the bytes have the digest ${found}, not ${sha256}; nothing was kept`,
        metadata: { expected: sha256, found },
      });
    }
    await rename(part, whole);
    return true;
  }
}

function uploadBusy(): Fault {
  return new Fault('UPLOAD_BUSY', {
    message: 'another request is sending this image; try again when it is done',
  });
}

async function sizeOf(file: string): Promise<number | null> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
