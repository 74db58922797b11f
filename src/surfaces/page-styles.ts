/** The styles inside of index.html: the Content-Security-Policy allows exactly these, by their digests. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';

interface Known {
  readonly changedAt: number;
  readonly digests: readonly string[];
}

/** By file. A build replaces it while the server runs. */
const known = new Map<string, Known>();

/** As the policy names them: `'sha256-…'`. None where there is no such file. */
export async function styleDigests(file: string): Promise<readonly string[]> {
  const found = await stat(file).catch(() => null);
  if (found === null) return [];
  const before = known.get(file);
  if (before?.changedAt === found.mtimeMs) return before.digests;
  const html = await readFile(file, 'utf8').catch(() => '');
  const digests = [...html.matchAll(/<style>(.*?)<\/style>/gs)].map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  );
  known.set(file, { changedAt: found.mtimeMs, digests });
  return digests;
}
