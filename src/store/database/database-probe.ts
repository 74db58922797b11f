/**
 * Probes whether the database can be written, so that a load balancer takes a replica out before calls fail, and puts it back
 * when the cause is gone.
 *
 * A server with a full disk answers SELECT 1, and can change an existing page: the probe grows a temporary table, which takes
 * a new page each time and leaves nothing behind. Errors that work met count at once; only a probe that was started after the
 * last of them, on its own connection, shows that they are over.
 *
 * A server with a full disk may exit and be unable to start again, and new connections may fail with messages that do not
 * name the disk. Such errors are shown with their first cause, to callers too, until a probe has passed.
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
  /** Null: the database can be written. Called when that changes, and when the cause does. */
  readonly onChange: (away: DatabaseAway | null) => void;
  /** The probe itself failed, which says nothing about the database. */
  readonly onError: (error: unknown) => void;
  readonly watch: LoopWatch;
}

const EVERY_MS = 500;
const SOON_MS = 50;
/** A probe that takes longer failed: it must be over before the next call of /readyz. */
const ANSWER_MS = 1_400;

const PREPARE = `SET temp_tablespaces = ''; SET client_min_messages = error;
  CREATE TEMPORARY TABLE IF NOT EXISTS ingot_probe (page text) ON COMMIT DELETE ROWS;
  ALTER TABLE ingot_probe ALTER COLUMN page SET STORAGE PLAIN`;
/** A read-only transaction may still write to a temporary table. */
const GROW = `INSERT INTO ingot_probe SELECT repeat('x', 6000) FROM generate_series(1, 4)
  RETURNING current_setting('transaction_read_only') AS read_only`;

/** Causes that may make a server exit. */
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
  #errorReported = false;

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

  /** Work met this error; returns it with its first cause. */
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
    // A connection that was cut meanwhile says nothing about the next one.
    if (isKept && outcome !== null && !(outcome.cause instanceof NoAnswer)) {
      await this.#dropClient();
      outcome = await this.#probe();
    }
    if (stop.aborted) return;
    if (outcome !== null) {
      await this.#dropClient();
      this.#change(outcome);
    } else if (this.#lastErrorAt >= startedAt) {
      // An existing connection may still work where new ones fail.
      await this.#dropClient();
    } else this.#change(null);
  }

  #explained(away: DatabaseAway): DatabaseAway {
    if (FIRST_CAUSES.includes(away.kind)) this.#firstCause = away.kind;
    const first = this.#firstCause;
    if (first === null || first === away.kind) return away;
    // The same cause, as a new connection reports it.
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
    const timeout = sleep(ANSWER_MS, late.signal)
      // A process that was busy itself reads what has already arrived before it reports a timeout.
      .then(() => turn())
      .then(() => new NoAnswer('no answer in time'));
    const error = await Promise.race([answered, timeout]);
    late.abort();
    if (error === null) return null;
    const away = asAway(error, 'connecting');
    if (away instanceof DatabaseAway) return this.#explained(away);
    if (!this.#errorReported) this.#options.onError(error);
    this.#errorReported = true;
    return null;
  }

  async #ask(): Promise<void> {
    const client = this.#client ?? (await this.#connect());
    const { rows } = await client.query<{ read_only: string }>(GROW);
    if (rows[0]?.read_only === 'on') throw new DatabaseAway('read_only', null);
  }

  async #connect(): Promise<pg.Client> {
    const client = this.#options.newClient();
    // A connection that breaks fails the next probe; the event itself, without a listener, would end the process.
    client.on('error', () => {});
    this.#client = client;
    await client.connect();
    await client.query(PREPARE);
    return client;
  }

  async #dropClient(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    // It may be broken: an error while it closes says nothing new.
    client?.end().catch(() => {});
  }
}
