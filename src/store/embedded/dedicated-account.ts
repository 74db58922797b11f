/**
 * The system account that PostgreSQL runs as when root starts Ingot in a directory of root. It is created at the first start:
 * a user that other services share, such as nobody, would let each of them read PostgreSQL's files and change its settings.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sleep } from '../../time/sleep.ts';

const NAME = 'ingot-postgres';
const CREATE = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
const SHELL = ['--shell', '/usr/sbin/nologin', '--comment', 'PostgreSQL of Ingot'];

/** Other programs that add accounts hold the same lock for a moment. */
const ATTEMPTS = 20;
const PAUSE_MS = 250;

const run = promisify(execFile);
const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

export async function dedicatedAccount(log: (line: string) => void): Promise<{ uid: number; gid: number }> {
  let problem = '';
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const found = await find();
    if (found) return found;
    try {
      await run('useradd', [...CREATE, ...SHELL, NAME], { env });
      log(`created the system account ${NAME}, which PostgreSQL runs as`);
    } catch (error) {
      problem = lastLine(error);
      if (isMissing(error)) break;
      // Another Ingot may be creating it.
      if (!(await find())) await sleep(PAUSE_MS);
    }
  }
  throw new Error(
    `PostgreSQL refuses to run as root and needs an account of its own, which could not be created (${problem}): ` +
      `create it with useradd --system ${NAME}, or give the data directory to another user, or set DATABASE_URL`,
  );
}

async function find(): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, NAME], { env })));
    const account = { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
    return account.uid > 0 && account.gid > 0 ? account : undefined;
  } catch (error) {
    if (isMissing(error)) throw error;
    return undefined;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split('\n').at(-1) ?? text;
}
