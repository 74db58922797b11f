/*
 * Stops what a killed Ingot left running: its PostgreSQL, or backends of a PostgreSQL that was killed too. Both would
 * write to the files that a new PostgreSQL is about to open, so all of them have to end first. A pid is signalled
 * only after a check that it is a postgres that runs in this cluster.
 */

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../../time/sleep.ts';
import type { Account } from './account.ts';
import { postgresProcesses } from './process-identity.ts';
import { removeSocketDir } from './socket-dir.ts';

const limits = { fastMs: 60_000, immediateMs: 30_000 };

/** Call with the data directory's lock held. */
export async function stopOrphan(
  cluster: string,
  account: Account,
  log: (line: string) => void,
): Promise<void> {
  const left = readPidFile(cluster);
  if (left === undefined) return;
  const running = () => postgresProcesses(cluster, account, left.postmaster);
  if (running().includes(left.postmaster)) {
    log(`stopping the PostgreSQL that an earlier Ingot left running, pid ${left.postmaster}`);
    signalIfAlive(left.postmaster, 'SIGINT');
    await untilNone(running, limits.fastMs);
  }
  // Backends that outlived their postmaster get the signal that it would have sent them after a crash.
  for (const pid of running()) signalIfAlive(pid, 'SIGQUIT');
  await untilNone(running, limits.immediateMs);
  const remaining = running().join(', ');
  if (remaining !== '')
    throw new Error(`${cluster} is in use by PostgreSQL, pid ${remaining}, which does not stop`);
  forgetPid(cluster);
  removeSocketDir(left.socketDir);
}

async function untilNone(running: () => number[], forMs: number): Promise<void> {
  const deadline = performance.now() + forMs;
  while (running().length > 0 && performance.now() < deadline) await sleep(50);
}

/**
 * PostgreSQL takes any process with the pid in this file for its predecessor and refuses to start: a zombie that a
 * container's first process never reaps, or another process that has the pid now. No process runs in the
 * cluster, as was just checked, except where only the postmaster could be checked.
 */
function forgetPid(cluster: string): void {
  if (process.platform === 'linux') rmSync(pidFile(cluster), { force: true });
}

function pidFile(cluster: string): string {
  return join(cluster, 'postmaster.pid');
}

function readPidFile(cluster: string): { postmaster: number; socketDir: string } | undefined {
  try {
    const [pid, , , , socketDir = ''] = readFileSync(pidFile(cluster), 'utf8').split('\n');
    return { postmaster: Number(pid), socketDir };
  } catch {
    return undefined;
  }
}

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
