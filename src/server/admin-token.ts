/** The first token: made at the first start, kept in a file that only its owner can read. */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../domain/error/fault.ts';
import type { Database } from '../store/database/database.ts';
import { createToken, findToken, newSecret } from '../store/tokens.ts';

const NAME = 'admin';
const ACTOR = { kind: 'system', id: 'first-start' } as const;

function adminTokenFile(dataDir: string): string {
  return join(dataDir, 'admin.token');
}

/**
 * Makes sure that the file holds a token that works. A file that is missing, or was made for another database,
 * is written anew. Replicas on other hosts have data directories of their own, so each gets a token of its own
 * and none takes another's away.
 */
export async function ensureAdminToken(
  database: Database,
  dataDir: string,
): Promise<{ file: string; fresh: boolean }> {
  const file = adminTokenFile(dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o755 });
  if (existsSync(file) && (await findToken(database, readFileSync(file, 'utf8').trim()))) {
    // Whoever copied it about may have let others read it.
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
  // Written beside and renamed: a reader finds the old token or the new one, never half of it.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${secret}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
  return { file, fresh: true };
}

async function store(database: Database, name: string, secret: string): Promise<void> {
  await createToken(database, { name, role: 'admin', expiresAt: null, secret, actor: ACTOR });
}
