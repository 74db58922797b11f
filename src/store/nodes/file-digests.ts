/**
 * The SHA-256 of files, each computed again when the file is not the one that was hashed: another inode, size, or time of its
 * last change. The time of the last change of the inode can't be set back, as that of the content can.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

interface Known {
  readonly stamp: string;
  readonly digest: Promise<string>;
}

export class FileDigests {
  readonly #known = new Map<string, Known>();

  /** In hex digits; null: there is no such file. Calls for the same file share the work. */
  async of(path: string): Promise<string | null> {
    const stamp = await stampOf(path);
    if (stamp === null) {
      this.#known.delete(path);
      return null;
    }
    const known = this.#known.get(path);
    if (known?.stamp === stamp) return known.digest;
    const digest = hashFile(path);
    this.#known.set(path, { stamp, digest });
    digest.catch(() => this.#known.delete(path));
    return digest;
  }
}

async function stampOf(path: string): Promise<string | null> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
