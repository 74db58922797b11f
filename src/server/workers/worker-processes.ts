/**
 * The workers of a primary process: started, watched, started again when they die, and stopped together.
 *
 * A worker that dies is started again after a pause that grows while it keeps dying. Its work is taken over by the others when
 * its leases end, as with any replica. When no worker serves and several starts in a row failed, more of them will not help:
 * the primary gives up.
 */
import cluster, { type Worker } from 'node:cluster';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { packageRoot } from '../../package-root.ts';
import { SettingError } from '../settings/settings.ts';
import type { DatabaseState, FromWorker, ToWorker, WorkerStart } from './worker-messages.ts';

const FIRST_RESTART_MS = 100;
const MAX_RESTART_MS = 10_000;
/** A worker that served for this long did not die because of its start. */
const STEADY_MS = 60_000;
const MAX_FAILED_STARTS = 5;
/** Longer than any part of an orderly stop may take. */
const STOP_GRACE_MS = 60_000;

export interface WorkerProcessesOptions extends Pick<WorkerStart, 'settings' | 'configuration'> {
  readonly log: Logger;
  /** Called once, when no more workers are started. A SettingError comes from a worker. */
  readonly onFailed: (error: Error) => void;
  /** For tests: another program than Ingot's worker. */
  readonly exec?: string;
}

interface Member {
  readonly number: number;
  readonly worker: Worker;
  isLoaded: boolean;
  servingSince: number | null;
}

export class WorkerProcesses {
  readonly #options: WorkerProcessesOptions;
  readonly #members = new Map<number, Member>();
  readonly #deaths = new Map<number, number>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  readonly #killAll = () => this.#kill();
  #state: DatabaseState | null = null;
  #failedStarts = 0;
  #stopping = false;
  #onMemberExit = () => {};
  #onAllServing: () => void = () => {};
  /** Resolves once, after the start. */
  readonly allServing = new Promise<void>((resolve) => {
    this.#onAllServing = resolve;
  });

  constructor(options: WorkerProcessesOptions) {
    this.#options = options;
    cluster.setupPrimary({
      exec: options.exec ?? join(packageRoot(), 'bin/worker.cjs'),
      args: [],
      serialization: 'advanced',
    });
    // Also without an orderly stop: at a second Ctrl-C, workers are killed with this process.
    process.on('exit', this.#killAll);
  }

  start(): void {
    for (let number = 1; number <= this.#options.settings.workers; number += 1) this.#fork(number);
  }

  report(state: DatabaseState): void {
    this.#state = state;
    for (const { worker, isLoaded } of this.#members.values()) if (isLoaded) send(worker, state);
  }

  /** Returns when every worker has exited. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    for (const { worker, isLoaded } of this.#members.values()) {
      // A worker that still loads its code has nothing to hand over.
      if (isLoaded) send(worker, { kind: 'stop' });
      else worker.process.kill('SIGKILL');
    }
    const killTimer = setTimeout(this.#killAll, STOP_GRACE_MS);
    while (this.#members.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onMemberExit = resolve;
      });
    }
    clearTimeout(killTimer);
    process.off('exit', this.#killAll);
  }

  #fork(number: number): void {
    const { log } = this.#options;
    const worker = cluster.fork();
    const member: Member = { number, worker, isLoaded: false, servingSince: null };
    this.#members.set(number, member);
    worker.on('message', (message: FromWorker) => this.#receive(member, message));
    worker.on('error', (error) => log.error({ err: error, worker: number }, 'a worker can not be reached'));
    worker.on('exit', (code, signal) => this.#exited(member, signal ?? `exit code ${code}`));
    log.debug({ worker: number, pid: worker.process.pid }, 'a worker was started');
  }

  #receive(member: Member, message: FromWorker): void {
    switch (message.kind) {
      case 'loaded':
        this.#loaded(member);
        return;
      case 'serving':
        this.#nowServes(member);
        return;
      case 'refused':
        this.#refused(member, message.message);
        return;
    }
  }

  #loaded(member: Member): void {
    const { number, worker } = member;
    const { settings, configuration } = this.#options;
    member.isLoaded = true;
    send(worker, { kind: 'start', worker: number, settings, configuration });
    if (this.#state) send(worker, this.#state);
  }

  #nowServes(member: Member): void {
    member.servingSince ??= performance.now();
    this.#failedStarts = 0;
    const serving = [...this.#members.values()].filter(({ servingSince }) => servingSince !== null);
    if (serving.length === this.#options.settings.workers) this.#onAllServing();
  }

  /** While no worker serves, the operator's setting is wrong; later the cause may pass, and other workers serve. */
  #refused({ number }: Member, message: string): void {
    this.#options.log.error({ worker: number, problem: message }, 'a worker refuses to start');
    if (this.#stopping || this.#isAnyServing()) return;
    const [setting = '', ...problem] = message.split(': ');
    this.#fail(new SettingError(setting, problem.join(': ')));
  }

  #exited(member: Member, cause: string): void {
    const { number, worker, servingSince } = member;
    this.#members.delete(number);
    this.#onMemberExit();
    if (this.#stopping) return;
    const served = servingSince !== null;
    const steady = served && performance.now() - servingSince >= STEADY_MS;
    const deaths = steady ? 0 : (this.#deaths.get(number) ?? 0);
    this.#deaths.set(number, deaths + 1);
    if (!served) this.#failedStarts += 1;
    const { log } = this.#options;
    if (this.#failedStarts >= MAX_FAILED_STARTS && !this.#isAnyServing()) {
      const error = `${this.#failedStarts} workers in a row ended before they served, the last with ${cause}`;
      this.#fail(new Error(`${error}; the lines before this one say why`));
      return;
    }
    const restartMs = Math.min(MAX_RESTART_MS, FIRST_RESTART_MS * 2 ** deaths);
    log.error(
      { worker: number, pid: worker.process.pid, cause, restart_ms: restartMs },
      'a worker died; its work is taken over when its leases end, and it is started again',
    );
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      this.#fork(number);
    }, restartMs);
    this.#restarts.add(timer);
  }

  #isAnyServing(): boolean {
    return [...this.#members.values()].some(({ servingSince }) => servingSince !== null);
  }

  #fail(error: Error): void {
    if (this.#stopping) return;
    this.#stopping = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    this.#options.onFailed(error);
  }

  #kill(): void {
    for (const { worker } of this.#members.values()) worker.process.kill('SIGKILL');
  }
}

/** A dying worker has no channel any more; its exit is handled when it is reported. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, (error) => error && worker.emit('error', error));
}
