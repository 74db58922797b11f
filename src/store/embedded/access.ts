import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Account } from './account.ts';

/** Beside the cluster, not in it: PostgreSQL's account never needs the password. */
export function passwordFile(dataDir: string): string {
  return join(dataDir, 'postgresql.password');
}

/** Ingot's password for its PostgreSQL: created once; one that was lost is replaced at the next start. */
export function ensurePassword(dataDir: string): string {
  const file = passwordFile(dataDir);
  const existing = readPrivately(file);
  if (existing) return existing;
  const password = randomBytes(32).toString('base64url');
  writePrivately(file, `${password}\n`);
  return password;
}

/** Links are not followed: the directory may belong to another user than root, who runs this. */
function readPrivately(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    fchmodSync(handle, 0o600);
    return readFileSync(handle, 'utf8').trim();
  } finally {
    closeSync(handle);
  }
}

/** Renamed into place: a reader finds the old content or the new one, never a part of it. Links are not followed. */
export function writePrivately(file: string, content: string, account?: Account): void {
  const temporary = `${file}.new`;
  rmSync(temporary, { force: true });
  const handle = openSync(temporary, 'wx', 0o600);
  try {
    writeFileSync(handle, content);
    fchmodSync(handle, 0o600);
    if (account) fchownSync(handle, account.uid, account.gid);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(temporary, file);
}

/** Each connection pays for them once. A database of tests has no secret to keep, and thousands of connections. */
const ITERATIONS = { durable: 4096, ephemeral: 1 } as const;

/** What PostgreSQL stores of a password (RFC 5803), so that the password itself is in no statement and no log. */
export function scramVerifier(password: string, durability: keyof typeof ITERATIONS): string {
  const salt = randomBytes(16);
  const iterations = ITERATIONS[durability];
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64');
  const server = keyed('Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${server}`;
}
