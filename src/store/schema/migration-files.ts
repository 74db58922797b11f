/**
 * The migrations of this version. Each declares, in a comment, the oldest version that can still run on the schema that it
 * creates:
 *
 *     -- min_version: 0.1.0
 *
 * Files up to 0007 were released before this line existed. A version that does not know a file without it refuses the schema.
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
