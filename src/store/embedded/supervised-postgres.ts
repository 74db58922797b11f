/*
 * The embedded PostgreSQL, started again whenever it exits by itself. It does so when there is no disk space for its log, or
 * when the system kills it for its memory. What was committed is still there, and clients reconnect to the same URL; they
 * detect by themselves that it was gone.
 */
import { FailurePause } from '../../time/failure-pause.ts';
import { sleep } from '../../time/sleep.ts';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded-postgres.ts';
import type { Exit } from './program.ts';
import { removeSocketDir, socketDirOf } from './socket-dir.ts';

export interface SupervisedPostgresOptions extends Omit<EmbeddedPostgresOptions, 'socketDir'> {
  readonly onExit: (exit: Exit) => void;
  readonly onStarted: () => void;
  /** The start is repeated. */
  readonly onStartFailed: (error: unknown) => void;
}

export interface SupervisedPostgres {
  readonly url: string;
  /** The pid of the process that runs, or ran last. */
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startSupervisedPostgres(
  options: SupervisedPostgresOptions,
): Promise<SupervisedPostgres> {
  const first = await startEmbeddedPostgres(options);
  const supervisor = new Supervisor(first, options);
  return {
    url: first.url,
    get pid() {
      return supervisor.current.pid;
    },
    stop: () => supervisor.stop(),
  };
}

class Supervisor {
  readonly #options: SupervisedPostgresOptions;
  readonly #socketDir: string;
  readonly #stopping = new AbortController();
  #restarting: Promise<void> = Promise.resolve();
  current: EmbeddedPostgres;

  constructor(first: EmbeddedPostgres, options: SupervisedPostgresOptions) {
    this.#options = options;
    this.#socketDir = socketDirOf(first.url);
    this.current = first;
    this.#watch(first);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#restarting;
    await this.current.stop();
    removeSocketDir(this.#socketDir);
  }

  #watch(postgres: EmbeddedPostgres): void {
    postgres.onExit((exit) => {
      if (this.#stopping.signal.aborted) return;
      this.#options.onExit(exit);
      this.#restarting = this.#restart();
    });
  }

  async #restart(): Promise<void> {
    const { signal } = this.#stopping;
    const pause = new FailurePause();
    while (!signal.aborted) {
      await sleep(pause.failed(), signal);
      if (signal.aborted) return;
      try {
        this.current = await startEmbeddedPostgres({ ...this.#options, socketDir: this.#socketDir });
        this.#options.onStarted();
        this.#watch(this.current);
        return;
      } catch (error) {
        this.#options.onStartFailed(error);
      }
    }
  }
}
