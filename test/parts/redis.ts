/** A real redis-server on a loopback port, that keeps nothing on disk. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';

const SERVER = 'redis-server';
const CLI = 'redis-cli';

export interface Redis {
  readonly url: string;
  readonly port: number;
  /** What redis-cli prints, a line each, without those that are empty. */
  cli(...args: string[]): string[];
  /** It keeps its port and its connections, and answers no request. */
  freeze(): void;
  thaw(): void;
  /** As by a crash: what it had is gone. */
  kill(): Promise<void>;
  /** Empty, on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRedis(options: { readonly password?: string } = {}): Promise<Redis> {
  const port = await freePort();
  const auth = options.password === undefined ? [] : ['--requirepass', options.password];
  let daemon = await start(port, auth);
  // A test that fails before it stops its Redis must not leave it behind.
  const endWithUs = () => daemon.kill('SIGKILL');
  process.once('exit', endWithUs);
  const kill = async () => {
    const exited = new Promise((resolve) => daemon.once('exit', resolve));
    daemon.kill('SIGKILL');
    if (daemon.exitCode === null && daemon.signalCode === null) await exited;
  };
  return {
    port,
    url: `redis://${options.password === undefined ? '' : `:${options.password}@`}127.0.0.1:${port}`,
    cli: (...args) => {
      const login = options.password === undefined ? [] : ['--no-auth-warning', '-a', options.password];
      const { status, stdout, stderr } = spawnSync(CLI, ['-p', String(port), ...login, ...args], {
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`redis-cli: ${stderr}`);
      return stdout.split('\n').filter((line) => line !== '');
    },
    freeze: () => daemon.kill('SIGSTOP'),
    thaw: () => daemon.kill('SIGCONT'),
    kill,
    restart: async () => {
      await kill();
      daemon = await start(port, auth);
    },
    stop: async () => {
      process.off('exit', endWithUs);
      await kill();
    },
  };
}

async function start(port: number, options: readonly string[]): Promise<ChildProcess> {
  const where = ['--bind', '127.0.0.1', '--port', String(port), '--dir', tmpdir()];
  const daemon = spawn(SERVER, [...where, '--save', '', '--appendonly', 'no', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let log = '';
  daemon.stdout.on('data', (text) => {
    log += text;
  });
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (daemon.exitCode !== null) throw new Error(`redis-server did not start: ${log}`);
    if (await isListening(port)) return daemon;
    await sleep(50);
  }
  daemon.kill('SIGKILL');
  throw new Error(`redis-server does not listen: ${log}`);
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
