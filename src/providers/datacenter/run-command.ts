/**
 * One command over one session. From the moment the command is asked for until its exit code is known, a connection
 * that breaks leaves its effect unknown: the host may have run it, run it in part, or not at all.
 */
import { constants } from 'node:os';
import type { ClientChannel } from 'ssh2';
import type { StepFailure } from '../../engine/step-handler.ts';
import { KeptOutput, LineSplitter } from './output.ts';
import { failure, type SshSession } from './ssh-session.ts';

export interface CommandRun {
  readonly command: string;
  readonly stdin: string;
  readonly onLine: (text: string, stream: 'stdout' | 'stderr') => void;
  readonly where: string;
  readonly signal: AbortSignal;
}

export interface CommandEnd {
  readonly exitCode: number;
  readonly stdout: string;
}

/** A command may leave something running that holds its output open; what it printed by then is what counts. */
const OUTPUT_GRACE_MS = 2_000;

export function runCommand(session: SshSession, run: CommandRun): Promise<CommandEnd> {
  const { command, stdin, where, signal } = run;
  return new Promise((resolve, reject) => {
    let channel: ClientChannel | null = null;
    let over = false;
    let gone = false;
    const settle = (finish: () => void) => {
      if (over) return;
      over = true;
      signal.removeEventListener('abort', stop);
      finish();
    };
    const stop = () => {
      // Closing alone would leave the command running on the host, unseen.
      channel?.signal('TERM');
      settle(() => reject(signal.reason));
    };
    const lose = () => settle(() => reject(lost(where)));
    let conclude = lose;
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    session.client.once('close', () => {
      gone = true;
      // Later: what came before the end, such as an exit code, is still on its way through the channel.
      setImmediate(() => conclude());
    });
    try {
      session.client.exec(command, (error, opened) => {
        // Refused, or lost after it was sent; every other error comes before anything is sent.
        if (error?.message === 'Unable to exec' && gone) return lose();
        if (error) return settle(() => reject(notBegun(where)));
        channel = opened;
        if (over) return opened.destroy();
        conclude = follow(opened, run, (end) => (end ? settle(() => resolve(end)) : lose()));
        opened.end(stdin);
      });
    } catch {
      settle(() => reject(notBegun(where)));
    }
  });
}

function lost(where: string): StepFailure {
  const message = `the connection to ${where} broke while the command ran`;
  return failure('effect_unknown', 'CONNECTION_LOST', message);
}

function notBegun(where: string): StepFailure {
  return failure('retryable', 'UNREACHABLE', `${where} did not open a session for the command`);
}

/** Calls back once: with the end, or with null if there was no exit code. Returns what makes it end now. */
function follow(
  channel: ClientChannel,
  run: CommandRun,
  finish: (end: CommandEnd | null) => void,
): () => void {
  const kept = new KeptOutput();
  const stdout = new LineSplitter((line) => run.onLine(line, 'stdout'));
  const stderr = new LineSplitter((line) => run.onLine(line, 'stderr'));
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
  // A host that hangs up while it is still being written to has said so by closing.
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

/** As a shell would put it. */
function signalNumber(name: string | undefined): number {
  return (constants.signals as Readonly<Record<string, number>>)[name ?? ''] ?? 0;
}
