/** The processes of the bench: those that serve, those that send, and a Redis. */

import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sleep } from '../../src/time/sleep.ts';
import type { Load, LoadResult } from './load.ts';

export interface Serving {
  readonly pid: number;
  readonly port: number;
}

/** As `ingot serve` starts it, and what is asked for, such as --cpu-prof, to see where the time goes. */
const SERVER_FLAGS = ['--max-semi-space-size=32']
  .concat((process.env.BENCH_SERVER_FLAGS ?? '').split(' '))
  .filter((flag) => flag !== '');

export class Processes {
  readonly #children = new Set<ChildProcess>();

  /** A script that prints its port as one line of JSON. */
  async serve(script: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Serving> {
    const file = fileURLToPath(new URL(script, import.meta.url));
    const child = spawn(process.execPath, [...SERVER_FLAGS, file, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#children.add(child);
    const gone = once(child, 'exit').then(() => Promise.reject(new Error(`${script} exited`)));
    const [data] = (await Promise.race([once(child.stdout, 'data'), gone])) as [Buffer];
    gone.catch(() => {});
    return { pid: child.pid ?? 0, port: (JSON.parse(data.toString()) as { httpPort: number }).httpPort };
  }

  /** Null where there is no redis-server. */
  async redis(
    dir: string,
    name: string,
    args: readonly string[],
  ): Promise<{ pid: number; socket: string } | null> {
    if (spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status !== 0) return null;
    const socket = join(dir, `${name}.sock`);
    const own = ['--port', '0', '--unixsocket', socket, '--dir', dir, '--dbfilename', `${name}.rdb`];
    const child = spawn('redis-server', [...own, '--appenddirname', name, '--save', '', ...args], {
      stdio: 'ignore',
    });
    this.#children.add(child);
    while (!existsSync(socket) && child.exitCode === null) await sleep(20);
    return { pid: child.pid ?? 0, socket };
  }

  /** `crowd`: several of them, which would take the processors from the server that they wait for. */
  async sender(kind: 'alone' | 'crowd' = 'alone'): Promise<Sender> {
    const child = fork(fileURLToPath(new URL('load.js', import.meta.url)), {
      serialization: 'advanced',
      execArgv: [],
    });
    this.#children.add(child);
    await once(child, 'message');
    if (kind === 'crowd' && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
    return new Sender(child);
  }

  async stop(pid: number): Promise<void> {
    for (const child of this.#children) if (child.pid === pid) await this.#end(child);
  }

  async stopAll(): Promise<void> {
    for (const child of this.#children) await this.#end(child);
  }

  async #end(child: ChildProcess): Promise<void> {
    this.#children.delete(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
}

export class Sender {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async send(load: Load): Promise<LoadResult> {
    this.#child.send(load);
    const [result] = (await once(this.#child, 'message')) as [LoadResult];
    return result;
  }
}
