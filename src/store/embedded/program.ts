import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Account } from './account.ts';

/**
 * The path of the data that PostgreSQL gets. The directory may be below one that PostgreSQL's account can't enter, such as
 * /root, so PostgreSQL is started inside it, before the user is switched, and refers to it by this name.
 */
export function dataArgument(cluster: string): string {
  return process.platform === 'linux' ? '/proc/self/cwd' : cluster;
}

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly cluster: string;
  readonly account: Account;
  readonly onLine: (line: string) => void;
  /** For its standard input; without it there is none. */
  readonly input?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Starts one of PostgreSQL's programs inside the cluster's directory. */
export function spawnProgram(program: Program): ChildProcess {
  const child = spawn(program.file, program.args, {
    ...program.account,
    cwd: program.cluster,
    // No variable of the environment (PGDATA, PGPORT, a locale) may change what is started.
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    stdio: [program.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    // In its own session: Ctrl-C in the terminal is for Ingot, which stops PostgreSQL last.
    detached: true,
  });
  for (const output of [child.stdout, child.stderr]) {
    if (output) createInterface({ input: output }).on('line', program.onLine);
  }
  // A program that has failed reads no further: its output says why.
  child.stdin?.on('error', () => {}).end(program.input);
  child.once('error', (error) => program.onLine(`error: ${error.message}`));
  return child;
}

export function untilExit(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

/** Keeps the last lines that a program printed, to report why it failed. */
export function tailOf(onLine: (line: string) => void): { onLine(line: string): void; reason(): string } {
  const lines: string[] = [];
  return {
    onLine(line) {
      lines.push(line);
      if (lines.length > 20) lines.shift();
      onLine(line);
    },
    reason() {
      const cause = lines.findLast((line) => /\b(error|FATAL|PANIC):/.test(line));
      return (
        cause?.replace(/^.*?\b(error|FATAL|PANIC):/, '') ??
        lines.at(-1) ??
        'it printed nothing'
      ).trim();
    },
  };
}
