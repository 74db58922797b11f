/**
 * One command over one session. From the request of the command until its exit code is known, a connection that breaks
 * leaves its effect unknown: the host may have run it, run it in part, or not at all.
 */

import { constants } from 'node:os';
import type { ClientChannel } from 'ssh2';
import { KeptOutput, LineSplitter } from '../connections/output.ts';
import type { StepFailure } from '../engine/step-handler.ts';
import { sleep } from '../time/sleep.ts';
import { failure, hostUnreachable, type SshSession } from './ssh-session.ts';

export interface CommandRun {
  readonly command: string;
  readonly stdin: string;
  readonly onLine: (text: string, stream: 'stdout' | 'stderr') => void;
  readonly where: string;
  readonly signal: AbortSignal;
  /** It only reads: without an answer there is no effect that could be unknown. */
  readonly quiet: true | undefined;
}

export interface CommandEnd {
  readonly exitCode: number;
  readonly stdout: string;
}

/** A command may leave something running that holds its output open: only what it printed by then counts. */
const OUTPUT_GRACE_MS = 2_000;

export function runCommand(session: SshSession, run: CommandRun): Promise<CommandEnd> {
  const { command, stdin, where, signal } = run;
  return new Promise((resolve, reject) => {
    let over = false;
    let gone = false;
    const settle = (finish: () => void) => {
      if (over) return;
      over = true;
      signal.removeEventListener('abort', stop);
      finish();
    };
    const stop = () => settle(() => endCommands(session).then(() => reject(signal.reason)));
    const lose = () => settle(() => reject(run.quiet ? unanswered(where) : lost(where)));
    let conclude = lose;
    if (signal.aborted) return settle(() => reject(signal.reason));
    signal.addEventListener('abort', stop, { once: true });
    session.client.once('close', () => {
      gone = true;
      // Later: what came before the end, such as an exit code, is still being read from the channel.
      setImmediate(() => conclude());
    });
    try {
      session.client.exec(command, (error, opened) => {
        // Refused, or lost after it was sent; every other error comes before anything is sent.
        if (error?.message === 'Unable to exec' && gone) return lose();
        if (error) return settle(() => reject(notStarted(where)));
        if (over) return opened.destroy();
        // An aborted caller has gone on: what is printed after that is dropped.
        const onLine: CommandRun['onLine'] = (text, stream) => {
          if (!over) run.onLine(text, stream);
        };
        conclude = follow(opened, onLine, (end) => (end ? settle(() => resolve(end)) : lose()));
        opened.end(stdin);
      });
    } catch {
      settle(() => reject(notStarted(where)));
    }
  });
}

/**
 * Closing the connection alone would leave the command running on the host, unseen. Every command of a connection is
 * a child of the same sshd process and leads a process group, so a second command can find and end the first one.
 * OpenSSH's own way, a signal over the channel, is refused to root.
 */
const END_COMMANDS = 'for p in $(pgrep -P $PPID); do [ "$p" = $$ ] || kill -TERM -- "-$p"; done';
const MAX_END_MS = 1_000;

function endCommands({ client }: SshSession): Promise<void> {
  const ended = new AbortController();
  const done = () => ended.abort();
  client.once('close', done);
  try {
    client.exec(END_COMMANDS, (error, channel) => {
      if (error) return done();
      channel.on('error', () => {});
      channel.resume().once('close', done).end();
      channel.stderr.resume();
    });
  } catch {
    done();
  }
  return sleep(MAX_END_MS, ended.signal);
}

function lost(where: string): StepFailure {
  const message = `the connection to ${where} broke while the command ran`;
  return failure('effect_unknown', 'CONNECTION_LOST', message);
}

function unanswered(where: string): StepFailure {
  return hostUnreachable(where, `the connection to ${where} broke before it answered`);
}

function notStarted(where: string): StepFailure {
  return hostUnreachable(where, `${where} did not open a session for the command`);
}

/** Calls back once: with the end, or with null if there was no exit code. Returns what makes it end now. */
function follow(
  channel: ClientChannel,
  onLine: CommandRun['onLine'],
  finish: (end: CommandEnd | null) => void,
): () => void {
  const kept = new KeptOutput();
  const stdout = new LineSplitter((line) => onLine(line, 'stdout'));
  const stderr = new LineSplitter((line) => onLine(line, 'stderr'));
  let exitCode: number | null = null;
  let grace: NodeJS.Timeout | undefined;
  let done = false;
  const conclude = () => {
    if (done) return;
    done = true;
    clearTimeout(grace);
    stdout.end();
    stderr.end();
    finish(exitCode === null ? null : { exitCode, stdout: kept.toString() });
  };
  channel.on('data', (bytes: Buffer) => {
    if (done) return;
    kept.write(bytes);
    stdout.write(bytes);
  });
  channel.stderr.on('data', (bytes: Buffer) => {
    if (!done) stderr.write(bytes);
  });
  // A host that closes the connection while we write to it is handled by the close event.
  channel.on('error', () => {});
  channel.stderr.on('error', () => {});
  channel.on('exit', (code: number | null, signalName?: string) => {
    exitCode = code ?? 128 + signalNumber(signalName);
    grace = setTimeout(conclude, OUTPUT_GRACE_MS);
  });
  let open = 2;
  const closeOne = () => {
    open--;
    if (open === 0) conclude();
  };
  channel.once('close', closeOne);
  channel.stderr.once('close', closeOne);
  return conclude;
}

/** As a shell counts it. */
function signalNumber(name: string | undefined): number {
  return (constants.signals as Readonly<Record<string, number>>)[name ?? ''] ?? 0;
}
