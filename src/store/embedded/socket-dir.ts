import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Account, canReach, giveTo } from './account.ts';

const port = 5432;
// The shortest limit among the platforms for a socket's path, its final zero included.
const longestPath = 103;

/**
 * PostgreSQL listens on a socket in here and nowhere else, and asks for no password: this directory, which
 * only its account and root can enter, is what keeps others out.
 */
export function makeSocketDir(account: Account): string {
  const place = [tmpdir(), '/tmp', '/var/tmp'].find((base) => {
    const path = join(base, 'ingot-XXXXXX', `.s.PGSQL.${port}`);
    return Buffer.byteLength(path) <= longestPath && canReach(account, base);
  });
  if (place === undefined)
    throw new Error(`no temporary directory is fit for PostgreSQL's socket, not even /tmp`);
  const dir = mkdtempSync(join(place, 'ingot-'));
  giveTo(account, dir);
  return dir;
}

/** Under the name that it had; one that another user has made meanwhile is refused. */
export function makeAgain(account: Account, dir: string): void {
  removeSocketDir(dir);
  mkdirSync(dir, { mode: 0o700 });
  giveTo(account, dir);
}

export function socketDirOf(url: string): string {
  return new URL(url).searchParams.get('host') ?? '';
}

/** Safe to call with a path read from a file that PostgreSQL left: nothing but such a directory is touched. */
export function removeSocketDir(dir: string): void {
  if (!/^ingot-\w{6}$/.test(basename(dir))) return;
  try {
    for (const name of [`.s.PGSQL.${port}`, `.s.PGSQL.${port}.lock`])
      rmSync(join(dir, name), { force: true });
    rmdirSync(dir);
  } catch {
    // Gone already, or another user's; an empty directory that stays harms nobody.
  }
}

/** The host in the query is what counts; the one in the authority makes this a URL for every parser. */
export function socketUrl(dir: string): string {
  return `postgresql://postgres@localhost:${port}/postgres?host=${encodeURIComponent(dir)}`;
}
