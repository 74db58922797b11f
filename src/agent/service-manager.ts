/**
 * What the service manager is notified of, in the words of sd_notify: that the agent is ready, what it is doing, that it is
 * alive, and that it stops. The socket is a datagram socket, which Node.js can't open, so each message is sent by a child
 * process that lives for a moment (docs/decisions/0033-sd-notify.md). Messages are few: a change of what the agent is
 * doing, and two a watchdog's time.
 *
 * Without NOTIFY_SOCKET there is nobody to notify. A manager that can't be reached is logged once, and never holds the agent up.
 */
import { spawn } from 'node:child_process';
import type { AgentLog } from './agent-log.ts';
import type { LoopPulse } from './loop-pulse.ts';

export interface ServiceManager {
  /** The first registration succeeded. */
  ready(status: string): void;
  status(text: string): void;
  /** Returns when it was sent, or can't be. */
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
 * The first that is installed. systemd's own also waits until the message was taken, which systemd needs to know whose it
 * is; the others are for managers that ask no such thing, where there is no systemd.
 */
export const NOTIFY_SENDERS: readonly NotifySender[] = [
  { command: 'systemd-notify', args: (lines) => lines },
  { command: 'python3', args: (lines) => ['-c', PYTHON, lines.join('\n')] },
  { command: 'perl', args: (lines) => ['-e', PERL, lines.join('\n')] },
];

const SEND_LIMIT_MS = 5_000;
const NOBODY: ServiceManager = { ready: () => {}, status: () => {}, stopping: async () => {} };

export function connectServiceManager(options: ServiceManagerOptions): ServiceManager & { close(): void } {
  const socket = options.env.NOTIFY_SOCKET;
  if (socket === undefined || socket === '') return { ...NOBODY, close: () => {} };
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

/** Twice in the time that the manager allows, while the loop is alive: a server that is away is no reason for a restart. */
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
    else if (wasAlive) log('error', 'stuck', { hint: 'the watchdog is not fed any more' });
    wasAlive = isAlive;
  }, micros / 2000);
  return timer.unref();
}

/** One after the other, in their order. */
function createSender(
  { env, log, senders = NOTIFY_SENDERS }: ServiceManagerOptions,
  socket: string,
): (lines: readonly string[]) => Promise<void> {
  let queue: Promise<void> = Promise.resolve();
  let known = senders;
  let isTold = false;
  const deliver = async (lines: readonly string[]): Promise<void> => {
    const childEnv = { NOTIFY_SOCKET: socket, PATH: env.PATH };
    for (const sender of known) {
      const problem = await run(sender.command, sender.args(lines), childEnv);
      if (problem === 'absent') continue;
      known = [sender];
      if (problem !== null) fail(`${sender.command} ${problem}`);
      return;
    }
    fail(`there is none of ${senders.map(({ command }) => command).join(', ')}`);
  };
  const fail = (reason: string): void => {
    if (!isTold) log('warn', 'service manager not notified', { reason });
    isTold = true;
  };
  return (lines) => {
    queue = queue.then(() => deliver(lines));
    return queue;
  };
}

/** Null: it was sent. */
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
