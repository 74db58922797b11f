/*
 * One live Ingot per data directory.
 *
 * The lock is a file that names its holder: the pid, and the process's start, so that a later process with the same
 * pid is not mistaken for it. Nothing has to be cleaned up after a kill -9: a lock whose holder is dead is stale and
 * may be replaced.
 *
 * Two rules make replacing it safe. A file that names a live process is removed by that process alone. A
 * file that names a dead one is replaced only by the holder of `<file>.takeover`, which is a lock of the same
 * kind, so a process that dies while taking over blocks nothing either. Files appear with their content in
 * place (link and rename, never open and write), so no reader sees a part of one.
 */

import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../../time/sleep.ts';
import { processStart } from './process-identity.ts';

export interface DataDirLock {
  release(): void;
}

export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  const lock = await lockFile(join(dataDir, 'ingot.lock'));
  if ('holder' in lock) throw new Error(`${dataDir} is in use by another Ingot, pid ${lock.holder}`);
  return lock;
}

/** A lock of the same kind, on any path; or the pid of the live process that holds it. */
export async function lockFile(path: string): Promise<DataDirLock | { readonly holder: number }> {
  const mine = `${process.pid} ${processStart(process.pid)}\n`;
  const holder = await acquire(path, mine);
  if (holder !== undefined) return { holder };
  let held = true;
  return {
    release() {
      if (held) rmSync(path, { force: true });
      held = false;
    },
  };
}

/** Takes the lock, or returns the pid of the live process that holds it. */
async function acquire(path: string, mine: string): Promise<number | undefined> {
  const temporary = `${path}.${randomUUID()}`;
  try {
    // On a full disk it stays empty, and is removed again.
    writeFileSync(temporary, mine, { mode: 0o600 });
    for (;;) {
      if (linked(temporary, path)) return undefined;
      const found = read(path);
      const holder = found === undefined ? undefined : liveHolder(found);
      if (holder !== undefined) return holder;
      if (found !== undefined && (await replaceStale(path, found, temporary, mine))) return undefined;
    }
  } finally {
    rmSync(temporary, { force: true });
  }
}

async function replaceStale(path: string, stale: string, temporary: string, mine: string): Promise<boolean> {
  const takeover = `${path}.takeover`;
  if ((await acquire(takeover, mine)) !== undefined) {
    await sleep(10);
    return false;
  }
  try {
    // Another process may have taken the lock over since it was read.
    if (read(path) !== stale) return false;
    renameSync(temporary, path);
    return true;
  } finally {
    rmSync(takeover, { force: true });
  }
}

function liveHolder(content: string): number | undefined {
  const [pid, start] = content.trim().split(' ');
  return start !== undefined && processStart(Number(pid)) === start ? Number(pid) : undefined;
}

function linked(temporary: string, path: string): boolean {
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
