import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Account, canReach, giveTo } from './account.ts';
import { OWNER } from './roles.ts';

const port = 5432;
// The shortest limit of all platforms for a socket's path, with its final zero.
const longestPath = 103;

/** PostgreSQL listens only on a socket in this directory, which only its account and root can enter. */
export function makeSocketDir(account: Account): string {
  const place = [tmpdir(), '/tmp', '/var/tmp'].find((base) => {
    const path = join(base, 'ingot-XXXXXX', `.s.PGSQL.${port}`);
    return Buffer.byteLength(path) <= longestPath && canReach(account, base);
  });
  if (place === undefined)
    throw new Error(`no temporary directory can hold PostgreSQL's socket, not even /tmp`);
  const dir = mkdtempSync(join(place, 'ingot-'));
  giveTo(account, dir);
  return dir;
}

/** Under the same name; one that another user has created meanwhile is refused. */
export function makeAgain(account: Account, dir: string): void {
  removeSocketDir(dir);
  mkdirSync(dir, { mode: 0o700 });
  giveTo(account, dir);
}

export function socketDirOf(url: string): string {
  return new URL(url).searchParams.get('host') ?? '';
}

/** Safe for a path from a file that PostgreSQL left: only directories of this kind are touched. */
export function removeSocketDir(dir: string): void {
  if (!/^ingot-\w{6}$/.test(basename(dir))) return;
  try {
    for (const name of [`.s.PGSQL.${port}`, `.s.PGSQL.${port}.lock`])
      rmSync(join(dir, name), { force: true });
    rmdirSync(dir);
  } catch {
    // Gone already, or another user's; an empty directory that stays does no harm.
  }
}

/** The host in the query counts; the one in the authority makes this a valid URL for every parser. */
export function socketUrl(dir: string, password: string): string {
  const login = `${OWNER}:${encodeURIComponent(password)}`;
  return `postgresql://${login}@localhost:${port}/postgres?host=${encodeURIComponent(dir)}`;
}
