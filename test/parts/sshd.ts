/** A real sshd on a loopback port, with its own keys, for the user that runs the tests. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';

const SSHD = '/usr/sbin/sshd';

export interface SshdOptions {
  /** What commands find in their environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly hostKeyType?: 'ed25519' | 'rsa' | 'ecdsa';
  readonly config?: readonly string[];
  /** A private key that the host has, in place of one that is made for it. */
  readonly hostKey?: string;
  /** Public keys that are accepted, in place of the generated one. */
  readonly authorizedKeys?: readonly string[];
}

export interface Sshd {
  readonly port: number;
  readonly endpoint: string;
  readonly user: string;
  /** A private key that is accepted. */
  readonly keyFile: string;
  /** The public half of the host's key, as "type base64". */
  readonly hostKey: string;
  /** The line of a known_hosts file. */
  readonly knownHostsLine: string;
  /** What sshd logged so far. */
  log(): string;
  /** Ends connections and commands, as a host would that loses power; sshd goes on listening. */
  losePower(): void;
  /** Ends connections, and leaves their commands running. */
  cutConnections(): void;
  /** Sessions that are open now. */
  connections(): number;
  /** Its port is closed until it is back. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

export function createKey(file: string, type: string, passphrase = ''): void {
  const made = spawnSync('ssh-keygen', ['-q', '-t', type, '-N', passphrase, '-f', file]);
  if (made.status !== 0) throw new Error(`ssh-keygen: ${made.stderr}`);
}

function takeKey(file: string, privateKey: string): void {
  writeFileSync(file, privateKey, { mode: 0o600 });
  const derived = spawnSync('ssh-keygen', ['-y', '-f', file]);
  if (derived.status !== 0) throw new Error(`ssh-keygen: ${derived.stderr}`);
  writeFileSync(`${file}.pub`, derived.stdout);
}

export async function startSshd(options: SshdOptions = {}): Promise<Sshd> {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-sshd-'));
  const file = (name: string) => join(dir, name);
  if (options.hostKey === undefined) createKey(file('host-key'), options.hostKeyType ?? 'ed25519');
  else takeKey(file('host-key'), options.hostKey);
  createKey(file('user-key'), 'ed25519');
  if (options.authorizedKeys === undefined) copyFileSync(file('user-key.pub'), file('authorized_keys'));
  else writeFileSync(file('authorized_keys'), `${options.authorizedKeys.join('\n')}\n`);
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const port = await freePort();
  // SHLVL keeps bash from reading the user's own .bashrc.
  const env = Object.entries({ SHLVL: '2', ...options.env }).map(([key, value]) => `"${key}=${value}"`);
  const lines = [
    ...(options.config ?? []),
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${file('host-key')}`,
    `PidFile ${file('pid')}`,
    `AuthorizedKeysFile ${file('authorized_keys')}`,
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'UsePAM no',
    'StrictModes no',
    'PrintMotd no',
    'MaxStartups 100',
    'LogLevel VERBOSE',
    `SetEnv ${env.join(' ')}`,
  ];
  writeFileSync(file('config'), `${lines.join('\n')}\n`);
  let log = '';
  const launch = async () => {
    const started = spawn(SSHD, ['-D', '-e', '-f', file('config')], { stdio: ['ignore', 'ignore', 'pipe'] });
    started.stderr.on('data', (text) => {
      log += text;
    });
    await untilListening(port, started, () => log);
    return started;
  };
  let daemon = await launch();
  // A test that fails before it stops its sshd must not leave it behind.
  const endWithUs = () => daemon.kill('SIGKILL');
  process.once('exit', endWithUs);
  const goAway = async () => {
    for (const pid of childrenOf(daemon.pid ?? -1)) killTree(pid, () => true);
    const exited = new Promise((resolve) => daemon.once('exit', resolve));
    daemon.kill('SIGTERM');
    if (daemon.exitCode === null && daemon.signalCode === null) await exited;
  };
  const [type, blob] = readFileSync(file('host-key.pub'), 'utf8').split(' ');
  return {
    port,
    endpoint: `127.0.0.1:${port}`,
    user: userInfo().username,
    keyFile: file('user-key'),
    hostKey: `${type} ${blob}`,
    knownHostsLine: `[127.0.0.1]:${port} ${type} ${blob}`,
    log: () => log,
    losePower: () => {
      for (const pid of childrenOf(daemon.pid ?? -1)) killTree(pid, () => true);
    },
    cutConnections: () => {
      for (const pid of childrenOf(daemon.pid ?? -1)) killTree(pid, isSshd);
    },
    connections: () => childrenOf(daemon.pid ?? -1).length,
    goAway,
    comeBack: async () => {
      daemon = await launch();
    },
    stop: async () => {
      process.off('exit', endWithUs);
      await goAway();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function untilListening(port: number, daemon: ChildProcess, log: () => string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (daemon.exitCode !== null) throw new Error(`sshd did not start: ${log()}`);
    const up = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (up) return;
    await sleep(50);
  }
  throw new Error(`sshd does not listen: ${log()}`);
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => parentOf(candidate) === pid);
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? null : Number(parent);
  } catch {
    return null;
  }
}

function isSshd(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('sshd');
  } catch {
    return false;
  }
}

function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

/** The connection before its command, or there would be time to report how the command ended. */
function killTree(pid: number, which: (pid: number) => boolean): void {
  for (const member of treeOf(pid)) {
    try {
      if (which(member)) process.kill(member, 'SIGKILL');
    } catch {
      // It has just ended by itself.
    }
  }
}
