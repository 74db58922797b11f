/**
 * A token that the server handed out in place of one that the agent cannot overwrite: a credential of systemd, or a variable. It
 * is kept in the state directory of the service, with the digest of the token that it replaces: when an operator installs another
 * token, that one counts again.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSecretFile } from '../../secret-file.ts';

const NAME = 'machine-token';

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Null: nothing replaces the given token. */
export function readRotatedToken(stateDir: string, given: string): string | null {
  let text: string;
  try {
    text = readFileSync(join(stateDir, NAME), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const [replaces, token] = text.trim().split(' ');
  return replaces === digestOf(given) && token ? token : null;
}

export function writeRotatedToken(stateDir: string, given: string, token: string): void {
  openSecretFile(join(stateDir, NAME)).replace(`${digestOf(given)} ${token}`);
}
