import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Account } from './account.ts';

const hasProc = process.platform === 'linux';

/**
 * What tells a process from any other that has, had or will have the same pid: the boot it belongs to and
 * its start time within that boot. Undefined when there is no such process, or only its zombie.
 */
export function processStart(pid: number): string | undefined {
  return hasProc ? startFromProc(pid) : startFromPs(pid);
}

function startFromProc(pid: number): string | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (stat === undefined) return undefined;
  // The second field is the command's name, which may hold spaces and parentheses of its own.
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
 * The pids of PostgreSQL's processes at work in this cluster, `postmaster` among them if it is one: each
 * stays in the cluster's directory from its first moment to its last.
 */
export function postgresProcesses(cluster: string, account: Account, postmaster: number): number[] {
  if (hasProc) return processesIn(cluster, account).filter((pid) => commandName(pid) === 'postgres');
  return ps(postmaster, 'command=')?.includes(`postgres -D ${cluster} `) ? [postmaster] : [];
}

/**
 * Where a process works is shown to its own user only; to root it is too, but not to the root of a container.
 * Hence a shell, run by PostgreSQL's account in the cluster's directory, which compares others' to its own.
 */
function processesIn(cluster: string, account: Account): number[] {
  const script =
    'for process in /proc/[0-9]*; do if [ "$process/cwd" -ef . ]; then echo "$process"; fi; done';
  const shell = spawnSync('/bin/sh', ['-c', script], { ...account, cwd: cluster, encoding: 'utf8' });
  const pids = (shell.stdout ?? '').split('\n').map((path) => Number(basename(path)));
  // To take silence for emptiness would let two servers write to the same files. It has seen itself at least.
  if (!pids.includes(shell.pid)) throw new Error(`can't tell who uses ${cluster}`, { cause: shell.error });
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

/** A process may end between any two looks at it: what can no longer be read counts as gone. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
