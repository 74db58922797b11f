/**
 * The migrations that this version of Ingot knows. Each declares, in a comment of its own, the oldest version that can
 * still run on the schema that it leaves behind:
 *
 *     -- min_version: 0.1.0
 *
 * Files up to 0007 were released before there was such a line. A file without one says nothing, so a version that does
 * not know it refuses the schema.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

export interface Migration {
  readonly name: string;
  readonly text: string;
  readonly digest: string;
  readonly minVersion: string | null;
}

const FOLDER = new URL('../migrations/', import.meta.url);
const MIN_VERSION = /^-- min_version: (\S+)$/m;

export function readMigrations(folder: URL = FOLDER): Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8');
      const digest = createHash('sha256').update(text).digest('hex');
      return { name, text, digest, minVersion: MIN_VERSION.exec(text)?.[1] ?? null };
    });
}
