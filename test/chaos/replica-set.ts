/** Keeps a number of replicas running: one that dies is replaced, and an unexpected death is recorded. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Exit, ReplicaProcess } from './replica-process.ts';

export interface ReplicaSetOptions {
  readonly folder: string;
  /** One for all of them, or one for each slot. */
  readonly databaseUrl: string | ((slot: number) => string);
  readonly size: number;
  readonly leaseMs: number;
  /** A replica is started only while there is a database. */
  readonly whenDatabaseIsUp: () => Promise<void>;
}

export class ReplicaSet {
  readonly journalFolder: string;
  /** Deaths that the storm did not order. */
  readonly unexpectedDeaths: string[] = [];
  started = 0;
  readonly #options: ReplicaSetOptions;
  readonly #slots: Promise<void>[];
  readonly #running = new Set<ReplicaProcess>();
  #closing = false;

  constructor(options: ReplicaSetOptions) {
    this.#options = options;
    this.journalFolder = join(options.folder, 'journal');
    mkdirSync(this.journalFolder, { recursive: true });
    this.#slots = Array.from({ length: options.size }, (_, slot) => this.#keepOneRunning(slot));
  }

  /** Able to answer, as far as is known. */
  get ready(): ReplicaProcess[] {
    return [...this.#running].filter(({ state }) => state === 'ready');
  }

  /** Ready, and not the target of a fault. */
  get unharmed(): ReplicaProcess[] {
    return this.ready.filter(({ orderedEnd }) => orderedEnd === null);
  }

  /** Waits until there is one. */
  async anyUnharmed(): Promise<ReplicaProcess> {
    for (;;) {
      const [replica] = this.unharmed;
      if (replica || this.#closing) {
        if (replica) return replica;
        throw new Error('the storm is over');
      }
      await sleep(20);
    }
  }

  /** Every replica hands over and goes. */
  async terminate(): Promise<void> {
    this.#closing = true;
    for (const replica of this.#running) if (replica.orderedEnd === null) replica.terminate();
    await Promise.all(this.#slots);
  }

  /** On every path out: nothing that was started here stays. */
  async kill(): Promise<void> {
    this.#closing = true;
    for (const replica of this.#running) replica.kill();
    await Promise.all(this.#slots);
  }

  async #keepOneRunning(slot: number): Promise<void> {
    while (!this.#closing) {
      await this.#options.whenDatabaseIsUp();
      if (this.#closing) return;
      const number = this.started;
      this.started += 1;
      const { folder, databaseUrl, leaseMs } = this.#options;
      const logFile = join(folder, `replica-${number}.log`);
      const replica = new ReplicaProcess({
        databaseUrl: typeof databaseUrl === 'string' ? databaseUrl : databaseUrl(slot),
        dataDir: join(folder, 'replica'),
        journalFile: join(this.journalFolder, `${number}.jsonl`),
        logFile,
        leaseMs,
      });
      this.#running.add(replica);
      const startedWell = await replica.ready.then(
        () => true,
        () => false,
      );
      const exit = await replica.exited;
      this.#running.delete(replica);
      this.#judge(replica, exit, startedWell, logFile);
    }
  }

  /** A replica that can't start because the database is unavailable may exit; the set starts another. */
  #judge({ pid, orderedEnd }: ReplicaProcess, exit: Exit, startedWell: boolean, logFile: string): void {
    if (orderedEnd === 'kill' || !startedWell) return;
    if (orderedEnd === 'terminate' && exit.code === 0) return;
    const how = exit.signal ?? `exit code ${exit.code}`;
    const asked = orderedEnd === 'terminate' ? 'asked to hand over' : 'asked nothing';
    const words = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-12).join('\n    ');
    this.unexpectedDeaths.push(`replica ${pid}, ${asked}, ended with ${how}:\n    ${words}`);
  }
}
