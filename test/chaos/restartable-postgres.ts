/**
 * A PostgreSQL that can be restarted under its users. Its socket lies in another directory after every start;
 * the URL goes through a symbolic link that is updated each time, so it stays the same.
 */
import { renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/store/embedded/embedded-postgres.ts';
import { socketDirOf } from '../../src/store/embedded/socket-dir.ts';

/** `fast` ends all connections and writes everything down; `immediate` is a crash that needs recovery. */
export type ShutdownMode = 'fast' | 'immediate';

export class RestartablePostgres {
  #url = '';
  readonly #dataDir: string;
  readonly #link: string;
  #current: EmbeddedPostgres | null = null;
  #turn: Promise<void> = Promise.resolve();
  #isUp: Promise<void> = Promise.resolve();

  private constructor(dataDir: string) {
    this.#dataDir = dataDir;
    this.#link = join(dataDir, 'socket');
  }

  static async start(dataDir: string): Promise<RestartablePostgres> {
    const postgres = new RestartablePostgres(dataDir);
    await postgres.#start();
    return postgres;
  }

  get url(): string {
    return this.#url;
  }

  /** One restart at a time. */
  restart(mode: ShutdownMode): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      this.#isUp = this.#shutDown(mode).then(() => this.#start());
      await this.#isUp;
    });
    return this.#turn;
  }

  whenUp(): Promise<void> {
    return this.#isUp;
  }

  async stop(): Promise<void> {
    await this.#turn.catch(() => {});
    await this.#current?.stop();
    this.#current = null;
  }

  async #start(): Promise<void> {
    // Durable: an answered commit must be there after a crash.
    const settings = { shared_buffers: '64MB' };
    this.#current = await startEmbeddedPostgres({ dataDir: this.#dataDir, settings, databases: 'any' });
    symlinkSync(socketDirOf(this.#current.url), `${this.#link}.new`);
    renameSync(`${this.#link}.new`, this.#link);
    const url = new URL(this.#current.url);
    url.searchParams.set('host', this.#link);
    this.#url = url.href;
  }

  async #shutDown(mode: ShutdownMode): Promise<void> {
    const current = this.#current;
    this.#current = null;
    if (!current) return;
    if (mode === 'fast') return current.stop();
    const exited = new Promise<void>((resolve) => current.onExit(() => resolve()));
    process.kill(current.pid, 'SIGQUIT');
    await exited;
  }
}
