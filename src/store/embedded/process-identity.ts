import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Account } from './account.ts';

const hasProc = process.platform === 'linux';

/**
 * What distinguishes a process from any other with the same pid, before or after it: the boot it belongs to and its
 * start time within that boot. Undefined when there is no such process, or only its zombie.
 */
export function processStart(pid: number): string | undefined {
  return hasProc ? startFromProc(pid) : startFromPs(pid);
}

function startFromProc(pid: number): string | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (stat === undefined) return undefined;
  // The second field is the command's name, which may contain spaces and parentheses.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return undefined;
  return `${bootId()}/${rest[18]}`;
}

function startFromPs(pid: number): string | undefined {
  return ps(pid, 'lstart=')?.replaceAll(' ', '_');
}

function bootId(): string {
  return attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? 'boot';
}

/**
 * The pids of PostgreSQL's processes in this cluster, `postmaster` among them if it is one: each keeps the cluster's
 * directory as its working directory as long as it runs.
 */
export function postgresProcesses(cluster: string, account: Account, postmaster: number): number[] {
  if (hasProc) return processesIn(cluster, account).filter((pid) => commandName(pid) === 'postgres');
  return ps(postmaster, 'command=')?.includes(`postgres -D ${cluster} `) ? [postmaster] : [];
}

/**
 * A process's working directory is visible to its own user and to root, but not to the root of a container. Hence a
 * shell, run as PostgreSQL's account in the cluster's directory, which compares the others' with its own.
 */
function processesIn(cluster: string, account: Account): number[] {
  const script =
    'for process in /proc/[0-9]*; do if [ "$process/cwd" -ef . ]; then echo "$process"; fi; done';
  const shell = spawnSync('/bin/sh', ['-c', script], { ...account, cwd: cluster, encoding: 'utf8' });
  const pids = (shell.stdout ?? '').split('\n').map((path) => Number(basename(path)));
  // It must have seen at least itself: an empty result would let two servers write to the same files.
  if (!pids.includes(shell.pid))
    throw new Error(`can't find out which processes use ${cluster}`, { cause: shell.error });
  return pids;
}

function commandName(pid: number): string | undefined {
  return attempt(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim());
}

function ps(pid: number, field: string): string | undefined {
  const args = ['-ww', '-o', field, '-p', String(pid)];
  const answer = attempt(() => execFileSync('ps', args, { encoding: 'utf8', stdio: 'pipe' }).trim());
  return answer === '' ? undefined : answer;
}

/** A process may end between any two reads: one that can't be read any more counts as gone. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
