/**
 * Notifies the service manager with sd_notify: ready, status, watchdog, stopping. The socket is a datagram socket, which
 * Node.js can't open, so a short-lived child process sends each message (docs/decisions/0033-sd-notify.md). Messages are few:
 * each change of the status, and two per watchdog period.
 *
 * Without NOTIFY_SOCKET nothing is sent. A manager that can't be reached is logged once, and never blocks the agent.
 */
import { spawn } from 'node:child_process';
import type { AgentLog } from '../agent-log.ts';
import type { LoopPulse } from './loop-pulse.ts';

export interface ServiceManager {
  /** The first registration succeeded. */
  ready(status: string): void;
  status(text: string): void;
  /** Resolves when it was sent, or failed. */
  stopping(status: string): Promise<void>;
}

export interface ServiceManagerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly pulse: LoopPulse;
  readonly log: AgentLog;
  readonly senders?: readonly NotifySender[];
}

export interface NotifySender {
  readonly command: string;
  readonly args: (lines: readonly string[]) => readonly string[];
}

const PYTHON = `import os, socket, sys
name = os.environ["NOTIFY_SOCKET"]
to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
to.connect("\\0" + name[1:] if name[0] == "@" else name)
to.sendall(sys.argv[1].encode())`;

const PERL = `use Socket; (my $name = $ENV{NOTIFY_SOCKET}) =~ s/^@/\\0/;
socket(my $to, AF_UNIX, SOCK_DGRAM, 0) or die $!; send($to, $ARGV[0], 0, sockaddr_un($name)) or die $!;`;

/**
 * The first that is installed is used. systemd-notify also waits until systemd has read the message, so that systemd can
 * identify the sender; the others are for other managers.
 */
export const NOTIFY_SENDERS: readonly NotifySender[] = [
  { command: 'systemd-notify', args: (lines) => lines },
  { command: 'python3', args: (lines) => ['-c', PYTHON, lines.join('\n')] },
  { command: 'perl', args: (lines) => ['-e', PERL, lines.join('\n')] },
];

const SEND_LIMIT_MS = 5_000;
const NO_MANAGER: ServiceManager = { ready: () => {}, status: () => {}, stopping: async () => {} };

export function connectServiceManager(options: ServiceManagerOptions): ServiceManager & { close(): void } {
  const socket = options.env.NOTIFY_SOCKET;
  if (socket === undefined || socket === '') return { ...NO_MANAGER, close: () => {} };
  const send = createSender(options, socket);
  let last = '';
  const status = (text: string): string[] => {
    last = text;
    return [`STATUS=${text}`];
  };
  const watchdog = startWatchdog(options, () => send(['WATCHDOG=1']));
  return {
    ready: (text) => void send(['READY=1', ...status(text)]),
    status: (text) => {
      if (text !== last) void send(status(text));
    },
    stopping: (text) => {
      clearInterval(watchdog);
      return send(['STOPPING=1', ...status(text)]);
    },
    close: () => clearInterval(watchdog),
  };
}

/** Twice per watchdog period while the loop is alive: a server that does not respond is no reason for a restart. */
function startWatchdog(
  { env, pid, pulse, log }: ServiceManagerOptions,
  feed: () => void,
): NodeJS.Timeout | undefined {
  const micros = Number(env.WATCHDOG_USEC);
  const isOurs = env.WATCHDOG_PID === undefined || env.WATCHDOG_PID === String(pid);
  if (!isOurs || !Number.isFinite(micros) || micros <= 0) return undefined;
  let wasAlive = true;
  const timer = setInterval(() => {
    const isAlive = pulse.isAlive();
    if (isAlive) feed();
    else if (wasAlive) log('error', 'stuck', { hint: 'the watchdog is not notified any more' });
    wasAlive = isAlive;
  }, micros / 2000);
  return timer.unref();
}

/** Sends messages one after the other, in order. */
function createSender(
  { env, log, senders = NOTIFY_SENDERS }: ServiceManagerOptions,
  socket: string,
): (lines: readonly string[]) => Promise<void> {
  let queue: Promise<void> = Promise.resolve();
  let known = senders;
  let isReported = false;
  const deliver = async (lines: readonly string[]): Promise<void> => {
    const childEnv = { NOTIFY_SOCKET: socket, PATH: env.PATH };
    for (const sender of known) {
      const problem = await run(sender.command, sender.args(lines), childEnv);
      if (problem === 'absent') continue;
      known = [sender];
      if (problem !== null) fail(`${sender.command} ${problem}`);
      return;
    }
    fail(`none of these programs is installed: ${senders.map(({ command }) => command).join(', ')}`);
  };
  const fail = (reason: string): void => {
    if (!isReported) log('warn', 'service manager not notified', { reason });
    isReported = true;
  };
  return (lines) => {
    queue = queue.then(() => deliver(lines));
    return queue;
  };
}

/** Null: sent. */
function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: 'ignore',
      env,
      timeout: SEND_LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? 'absent' : error.message),
    );
    child.once('close', (code, signal) => resolve(code === 0 ? null : `ended with ${signal ?? code}`));
  });
}
