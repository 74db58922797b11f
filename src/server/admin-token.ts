/** The first token: created at the first start, stored in a file that only its owner can read. */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../domain/error/fault.ts';
import { openSecretFile } from '../secret-file.ts';
import type { Database } from '../store/database/database.ts';
import { createToken, FIRST_START, findToken, newSecret } from '../store/tokens.ts';

const NAME = 'admin';

function adminTokenFile(dataDir: string): string {
  return join(dataDir, 'admin.token');
}

/**
 * Makes sure that the file holds a valid token. A file that is missing, or that belongs to another database, is
 * written again. Replicas on other hosts have their own data directories, so each gets its own token and none
 * revokes another's.
 */
export async function ensureAdminToken(
  database: Database,
  dataDir: string,
): Promise<{ file: string; fresh: boolean }> {
  const file = adminTokenFile(dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o755 });
  if (existsSync(file) && (await findToken(database, readFileSync(file, 'utf8').trim()))) {
    // A copy of the file may have been made readable for others.
    chmodSync(file, 0o600);
    return { file, fresh: false };
  }
  const secret = newSecret();
  try {
    await store(database, NAME, secret);
  } catch (error) {
    if (!(error instanceof Fault) || error.reason !== 'TOKEN_NAME_TAKEN') throw error;
    await store(database, `${NAME}-${randomBytes(4).toString('hex')}`, secret);
  }
  openSecretFile(file).replace(secret);
  return { file, fresh: true };
}

async function store(database: Database, name: string, secret: string): Promise<void> {
  await createToken(database, {
    name,
    role: 'admin',
    scope: null,
    within: null,
    expiresAt: null,
    secret,
    actor: FIRST_START,
  });
}
