/** A server of any build as a process of its own, started through the build's own `ingot serve`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { sleep } from '../../src/time/sleep.ts';
import { askChild } from './ask-child.ts';
import type { Build } from './build-commit.ts';
import type { Cleanup } from './cleanup.ts';
import type { Inquiry, Vitals } from './inside-server.ts';

export interface ServerOptions {
  readonly build: Build;
  readonly databaseUrl: string;
  /** Of this server alone. */
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string>>;
  /** More sections of the configuration file. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly cleanup: Cleanup;
}

/**
 * What probes cost is measured elsewhere, and what one caller may ask for is no measure of what the server can do. Older
 * commits refuse what they do not know, so the longest that is accepted counts.
 */
const CONFIGURATIONS = [
  {
    looks: { enabled: false },
    limits: { calls_per_second_per_identity: 0, calls_per_second_per_address: 0, streams_per_identity: 0 },
  },
  { looks: { enabled: false } },
] as const;
const REFUSED_SETTING = 64;
const START_LIMIT_MS = 120_000;

interface Serving {
  readonly child: ChildProcess;
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly token: string;
}

export class ServerProcess {
  readonly #options: ServerOptions;
  #configuration = 0;
  #serving: Serving | null = null;

  private constructor(options: ServerOptions) {
    this.#options = options;
    options.cleanup.add(() => this.stop());
  }

  static async start(options: ServerOptions): Promise<ServerProcess> {
    const server = new ServerProcess(options);
    await server.start();
    return server;
  }

  /** Returns the milliseconds from the start of the process until it is ready. */
  async start(): Promise<number> {
    for (; this.#configuration < CONFIGURATIONS.length; this.#configuration += 1) {
      const startedAt = performance.now();
      const result = await this.#attempt(CONFIGURATIONS[this.#configuration] ?? {});
      if (result === 'refused') continue;
      this.#serving = result;
      await untilReady(result.httpPort);
      return performance.now() - startedAt;
    }
    throw new Error(`${this.#options.build.name} accepts no configuration of the benchmark`);
  }

  get pid(): number {
    return this.#now.child.pid ?? 0;
  }

  get grpcAddress(): string {
    return `127.0.0.1:${this.#now.grpcPort}`;
  }

  get httpPort(): number {
    return this.#now.httpPort;
  }

  get token(): string {
    return this.#now.token;
  }

  vitals(): Promise<Vitals> {
    return this.#ask({ bench: 'vitals' }) as Promise<Vitals>;
  }

  async startProfile(): Promise<void> {
    await this.#ask({ bench: 'start profile' });
  }

  async endProfile(file: string): Promise<void> {
    await this.#ask({ bench: 'end profile', file });
  }

  async stop(): Promise<void> {
    const child = this.#serving?.child;
    this.#serving = null;
    await end(child, 'SIGTERM');
  }

  /** As a crash does. */
  async kill(): Promise<void> {
    const child = this.#serving?.child;
    this.#serving = null;
    await end(child, 'SIGKILL');
  }

  get #now(): Serving {
    if (this.#serving === null) throw new Error('the server is stopped');
    return this.#serving;
  }

  async #ask(inquiry: Inquiry): Promise<Vitals | string> {
    const { answer } = await askChild<{ answer: Vitals | string }>(this.#now.child, inquiry, 'the server');
    return answer;
  }

  async #attempt(configuration: object): Promise<Serving | 'refused'> {
    const { build, databaseUrl, dataDir, env, configuration: more, cleanup } = this.#options;
    const configFile = join(dataDir, 'bench.yaml');
    writeFileSync(configFile, JSON.stringify({ ...configuration, ...more }));
    const inside = new URL('inside-server.js', import.meta.url).href;
    // As an operator starts it: the program chooses flags of Node.js by itself.
    const child = spawn(join(build.root, 'bin/ingot'), ['serve'], {
      cwd: dataDir,
      env: {
        ...process.env,
        NODE_OPTIONS: `--import ${inside} ${process.env.NODE_OPTIONS ?? ''}`,
        INGOT_LOG_LEVEL: 'error',
        ...env,
        DATABASE_URL: databaseUrl,
        INGOT_DATA_DIR: dataDir,
        INGOT_CONFIG: configFile,
        INGOT_HTTP_ADDR: '127.0.0.1:0',
        INGOT_GRPC_ADDR: '127.0.0.1:0',
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    cleanup.add(() => end(child, 'SIGKILL'));
    return untilServing(child);
  }
}

async function end(child: ChildProcess | undefined, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** The server's first message names its ports and where its token is. */
async function untilServing(child: ChildProcess): Promise<Serving | 'refused'> {
  let output = '';
  let problems = '';
  child.stderr?.on('data', (data: Buffer) => {
    problems = (problems + data.toString()).slice(-10_000);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === REFUSED_SETTING && problems.includes('limits')) resolve('refused');
      else reject(new Error(`the server exited with ${code}: ${problems}`));
    });
    child.stdout?.on('data', (data: Buffer) => {
      output += data.toString();
      const grpc = /^ {2}gRPC .*:(\d+)$/m.exec(output);
      const http = /^ {2}HTTP .*:(\d+)$/m.exec(output);
      const token = /^ {2}token +(.+)$/m.exec(output);
      if (!output.includes('Ctrl-C') || grpc === null || http === null || token === null) return;
      resolve({
        child,
        grpcPort: Number(grpc[1]),
        httpPort: Number(http[1]),
        token: readFileSync(token[1] ?? '', 'utf8').trim(),
      });
    });
  });
}

async function untilReady(port: number): Promise<void> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < START_LIMIT_MS) {
    if ((await statusOf(port)) === 200) return;
    await sleep(5);
  }
  throw new Error(`the server is not ready after ${START_LIMIT_MS / 1000} s`);
}

function statusOf(port: number): Promise<number> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/readyz', agent: false }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
    }).once('error', () => resolve(0));
  });
}
