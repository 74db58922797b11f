/**
 * Finds out by itself whether the database can be written, so that a replica is out of a load balancer before calls fail, and
 * back in it when the cause is gone.
 *
 * A full disk answers SELECT 1, and has room for a small change in a page that exists: the probe makes a table of its own
 * session grow, which takes a new page each time and leaves nothing behind. Errors that work met count at once; only a
 * probe that was started after the last of them, on a connection of its own, says that they are over.
 *
 * A server with a full disk may end, and can't start again; new connections may fail with words that do not name the disk.
 * What such a server led to is shown with its first cause, to callers too, until a probe has passed.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type pg from 'pg';
import { BackgroundLoop, type LoopWatch } from '../../time/repeat-until-stopped.ts';
import { Signal } from '../../time/signal.ts';
import { sleep } from '../../time/sleep.ts';
import { type AwayKindName, asAway, DatabaseAway } from './database-away.ts';

export interface DatabaseProbeOptions {
  readonly newClient: () => pg.Client;
  readonly monotonicNow: () => number;
  /** Null: all is well. Called when that changes, and when the cause does. */
  readonly onChange: (away: DatabaseAway | null) => void;
  /** The probe itself can't be carried out; it says nothing about the database then. */
  readonly onError: (error: unknown) => void;
  readonly watch: LoopWatch;
}

const EVERY_MS = 500;
const SOON_MS = 50;
/** One that takes longer is as good as none: a probe must be over when the next /readyz is asked. */
const ANSWER_MS = 1_400;

const PREPARE = `SET temp_tablespaces = ''; SET client_min_messages = error;
  CREATE TEMPORARY TABLE IF NOT EXISTS ingot_probe (page text) ON COMMIT DELETE ROWS;
  ALTER TABLE ingot_probe ALTER COLUMN page SET STORAGE PLAIN`;
/** In a transaction that may not write, a temporary table still may be. */
const GROW = `INSERT INTO ingot_probe SELECT repeat('x', 6000) FROM generate_series(1, 4)
  RETURNING current_setting('transaction_read_only') AS read_only`;

/** What a server may end of. */
const FIRST_CAUSES: readonly AwayKindName[] = ['disk_full', 'out_of_memory'];

class NoAnswer extends Error {}

export class DatabaseProbe {
  readonly #options: DatabaseProbeOptions;
  readonly #loop: BackgroundLoop;
  /** Work met an error. */
  readonly #errors = new Signal();
  #client: pg.Client | null = null;
  #away: DatabaseAway | null = null;
  #firstCause: AwayKindName | null = null;
  #lastErrorAt = Number.NEGATIVE_INFINITY;
  #complained = false;

  constructor(options: DatabaseProbeOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'probing the database',
      everyMs: EVERY_MS - SOON_MS,
      pass: (stop) => this.#probeOnce(stop),
      watch: options.watch,
      wake: this.#errors,
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#dropClient();
  }

  /** Work met this error; returns it with the cause that it has. */
  saw(away: DatabaseAway): DatabaseAway {
    if (away.effect === 'passes') return away;
    const explained = this.#explained(away);
    this.#lastErrorAt = this.#options.monotonicNow();
    if (explained.effect === 'lasts') this.#change(explained);
    this.#errors.notify();
    return explained;
  }

  async #probeOnce(stop: AbortSignal): Promise<void> {
    await this.#judge(stop);
    // Work that fails all the time wakes the loop all the time.
    await sleep(SOON_MS, stop);
  }

  async #judge(stop: AbortSignal): Promise<void> {
    const startedAt = this.#options.monotonicNow();
    const isKept = this.#client !== null;
    let outcome = await this.#probe();
    // A connection that was cut meanwhile tells nothing about the next one.
    if (isKept && outcome !== null && !(outcome.cause instanceof NoAnswer)) {
      await this.#dropClient();
      outcome = await this.#probe();
    }
    if (stop.aborted) return;
    if (outcome !== null) {
      await this.#dropClient();
      this.#change(outcome);
    } else if (this.#lastErrorAt >= startedAt) {
      // The same connection may be served although new ones are not.
      await this.#dropClient();
    } else this.#change(null);
  }

  #explained(away: DatabaseAway): DatabaseAway {
    if (FIRST_CAUSES.includes(away.kind)) this.#firstCause = away.kind;
    const first = this.#firstCause;
    if (first === null || first === away.kind) return away;
    // The same, in the words that a new connection gets.
    if (away.kind === 'io_error') return new DatabaseAway(first, away.cause);
    return new DatabaseAway(away.kind, away.cause, first);
  }

  #change(away: DatabaseAway | null): void {
    if (away === null) this.#firstCause = null;
    if (this.#away?.kind === away?.kind) return;
    this.#away = away;
    this.#options.onChange(away);
  }

  async #probe(): Promise<DatabaseAway | null> {
    const answered = this.#ask().then(
      () => null,
      (error: unknown) => error,
    );
    const late = new AbortController();
    const silence = sleep(ANSWER_MS, late.signal)
      // A process that was busy itself reads what has long arrived before it calls the database silent.
      .then(() => turn())
      .then(() => new NoAnswer('no answer in time'));
    const error = await Promise.race([answered, silence]);
    late.abort();
    if (error === null) return null;
    const away = asAway(error, 'connecting');
    if (away instanceof DatabaseAway) return this.#explained(away);
    if (!this.#complained) this.#options.onError(error);
    this.#complained = true;
    return null;
  }

  async #ask(): Promise<void> {
    const client = this.#client ?? (await this.#connect());
    const { rows } = await client.query<{ read_only: string }>(GROW);
    if (rows[0]?.read_only === 'on') throw new DatabaseAway('read_only', null);
  }

  async #connect(): Promise<pg.Client> {
    const client = this.#options.newClient();
    // A connection that breaks fails the next probe; the event itself, unheard, would end the process.
    client.on('error', () => {});
    this.#client = client;
    await client.connect();
    await client.query(PREPARE);
    return client;
  }

  async #dropClient(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    // It may be broken; how it ends tells nothing more.
    client?.end().catch(() => {});
  }
}
