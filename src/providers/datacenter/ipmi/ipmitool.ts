/**
 * One call of ipmitool, which opens a session, sends one command and closes the session. The password goes in through
 * the environment: every user of the host can read a command line, the environment by the same user only.
 *
 * A call that has to end early gets SIGINT, the one signal on which ipmitool closes its session; one that
 * is merely killed leaves the session open, and a BMC has only a few.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { KeptOutput } from '../../../connections/output.ts';
import { StepFailure } from '../../../engine/step-handler.ts';

export interface IpmitoolCall {
  readonly args: readonly string[];
  readonly password: string;
  /** What it reads from its standard input; the place for secrets. */
  readonly stdin?: string | undefined;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

export interface IpmitoolEnd {
  /** Null when it was killed. */
  readonly exitCode: number | null;
  readonly outOfTime: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** How long a session may take to close. */
const CLOSE_GRACE_MS = 1_000;

/** Returns when the program has ended, also when it was stopped. */
export function runIpmitool(call: IpmitoolCall): Promise<IpmitoolEnd> {
  const { args, password, limitMs, signal } = call;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = start(args, password, call.stdin ?? null);
    const stdout = new KeptOutput();
    const stderr = new KeptOutput();
    child.stdout.on('data', (bytes: Buffer) => stdout.write(bytes));
    child.stderr.on('data', (bytes: Buffer) => stderr.write(bytes));
    let outOfTime = false;
    let killing: NodeJS.Timeout | undefined;
    const stop = () => {
      child.kill('SIGINT');
      killing ??= setTimeout(() => child.kill('SIGKILL'), CLOSE_GRACE_MS);
    };
    const limit = setTimeout(() => {
      outOfTime = true;
      stop();
    }, limitMs);
    const settle = (finish: () => void) => {
      clearTimeout(limit);
      clearTimeout(killing);
      signal.removeEventListener('abort', stop);
      finish();
    };
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', (error: NodeJS.ErrnoException) => settle(() => reject(notStarted(error))));
    child.once('close', (exitCode) =>
      settle(() => {
        if (signal.aborted) reject(signal.reason);
        else resolve({ exitCode, outOfTime, stdout: stdout.toString(), stderr: stderr.toString() });
      }),
    );
  });
}

/** Node reports some errors of a start as an event, and throws the others. */
function start(
  args: readonly string[],
  password: string,
  input: string | null,
): ChildProcessByStdio<null, Readable, Readable> {
  const stdin = input === null ? null : namelessFile(input);
  try {
    return startProgram(
      () =>
        spawn('ipmitool', args, {
          ...spawnOptions(password),
          stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
        }) as ChildProcessByStdio<null, Readable, Readable>,
    );
  } finally {
    if (stdin !== null) closeSync(stdin);
  }
}

/** One that is typed to. Its end of input closes its session, so it ends with us. */
export function startTypedIpmitool(
  args: readonly string[],
  password: string,
): ChildProcessByStdio<Writable, Readable, Readable> {
  return startProgram(() =>
    spawn('ipmitool', args, { ...spawnOptions(password), stdio: ['pipe', 'pipe', 'pipe'] }),
  );
}

function spawnOptions(password: string) {
  return {
    // Times are printed for the time zone of the process.
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', IPMITOOL_PASSWORD: password },
    // In a process group of its own: Ctrl-C on our terminal is for us, and we finish what we have started.
    detached: true,
  } as const;
}

function startProgram<Child>(spawned: () => Child): Child {
  try {
    return spawned();
  } catch (error) {
    throw notStarted(error as NodeJS.ErrnoException);
  }
}

/** ipmitool opens its input by name, which a pipe of Node can't be. The file has no name any more before it is read, and only we may read it. */
function namelessFile(text: string): number {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-ipmi-'));
  try {
    const file = openSync(join(folder, 'commands'), 'wx+', 0o600);
    writeSync(file, text, 0);
    return file;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function notStarted({ code = 'unknown error' }: NodeJS.ErrnoException): StepFailure {
  if (code === 'ENOENT' || code === 'EACCES') {
    const message = 'ipmitool is not installed where Ingot runs (Debian: apt install ipmitool)';
    return new StepFailure({ class: 'needs_human', code: 'IPMITOOL_MISSING', message });
  }
  const message = `ipmitool could not be started (${code})`;
  return new StepFailure({ class: 'retryable', code: 'IPMITOOL_FAILED', message });
}
