/** One replica as the storm holds it: a child process, its API, and the faults that can be done to it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Api, connect } from '../../src/cli/connection/api.ts';
import type { Order, Report } from './replica-messages.ts';

export interface ReplicaOptions {
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly journalFile: string;
  readonly logFile: string;
  readonly leaseMs: number;
  /** Another program than the storm's, that reports as it does; where the build puts it. */
  readonly program?: string;
  readonly configFile?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

type Obeying = Extract<Report, { report: 'obeying' }>;

/** Tests run from the sources, the program from dist; a replica is always a process of compiled code. */
function compiledProgram(program: string): string {
  const place = import.meta.url.endsWith('.ts') ? `../../dist/${program}` : `../../${program}`;
  const file = fileURLToPath(new URL(place, import.meta.url));
  if (!existsSync(file)) throw new Error(`${file} is missing; build first`);
  return file;
}

export class ReplicaProcess {
  readonly pid: number;
  readonly ready: Promise<void>;
  readonly exited: Promise<Exit>;
  /** The last order that it said it would obey. */
  obeying: Obeying | null = null;
  state: 'starting' | 'ready' | 'frozen' | 'exited' = 'starting';
  /** What the storm is about to do to it, or has done; one fault at a time. */
  orderedEnd: 'kill' | 'stop' | 'terminate' | null = null;
  /** Known when it is ready. */
  httpPort = 0;
  readonly #child: ChildProcess;
  #api: Api | null = null;
  #onObeying: (report: Obeying) => void = () => {};

  constructor(options: ReplicaOptions) {
    const log = openSync(options.logFile, 'a');
    const program = compiledProgram(options.program ?? 'test/chaos/replica.js');
    this.#child = spawn(process.execPath, [program, options.journalFile], {
      stdio: ['pipe', 'pipe', log],
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: options.databaseUrl,
        INGOT_DATA_DIR: options.dataDir,
        INGOT_HTTP_ADDR: '127.0.0.1:0',
        INGOT_GRPC_ADDR: '127.0.0.1:0',
        INGOT_LEASE_MS: String(options.leaseMs),
        INGOT_LOG_LEVEL: 'warn',
        INGOT_CONFIG: options.configFile ?? '',
      },
    });
    closeSync(log);
    this.pid = this.#child.pid ?? 0;
    const killWithUs = () => this.#child.kill('SIGKILL');
    process.once('exit', killWithUs);
    this.exited = new Promise<Exit>((resolve) => {
      this.#child.once('error', () => resolve({ code: null, signal: null }));
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
    }).then((exit) => {
      process.off('exit', killWithUs);
      this.state = 'exited';
      this.#api?.close();
      return exit;
    });
    this.ready = this.#receiveMessages();
    // An order may meet a replica that has just died.
    this.#child.stdin?.on('error', () => {});
  }

  get api(): Api {
    if (!this.#api) throw new Error(`replica ${this.pid} is not ready`);
    return this.#api;
  }

  /** True when it has obeyed; false when it died before, or the point was not reached in this time. */
  async order(order: Order, patienceMs: number): Promise<boolean> {
    const obeyed = new Promise<boolean>((resolve) => {
      this.#onObeying = () => resolve(true);
    });
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    const died = this.exited.then(() => this.obeying !== null);
    const done = await within(patienceMs, Promise.race([obeyed, died]));
    if (done && order.fault === 'stop') this.state = 'frozen';
    return done ?? false;
  }

  kill(): void {
    this.orderedEnd = 'kill';
    this.#child.kill('SIGKILL');
  }

  freeze(): void {
    this.orderedEnd ??= 'stop';
    this.state = 'frozen';
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    if (this.orderedEnd === 'stop') this.orderedEnd = null;
    if (this.state === 'frozen') this.state = 'ready';
    this.#child.kill('SIGCONT');
  }

  /** Asks it to hand its work over and go. */
  terminate(): void {
    this.orderedEnd = 'terminate';
    this.#child.kill('SIGTERM');
  }

  #receiveMessages(): Promise<void> {
    return new Promise((resolve, reject) => {
      void this.exited.then(() => reject(new Error(`replica ${this.pid} exited before it was ready`)));
      const { stdout } = this.#child;
      if (!stdout) return;
      createInterface({ input: stdout }).on('line', (line) => {
        const report = JSON.parse(line) as Report;
        if (report.report === 'obeying') {
          this.obeying = report;
          this.#onObeying(report);
          return;
        }
        this.httpPort = report.httpPort;
        const token = readFileSync(report.adminTokenFile, 'utf8').trim();
        const address = { host: '127.0.0.1', port: report.grpcPort, tls: false };
        this.#api = connect(address, { token, origin: report.adminTokenFile });
        if (this.state === 'starting') this.state = 'ready';
        resolve();
      });
    });
  }
}

/** Undefined when it took longer. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
