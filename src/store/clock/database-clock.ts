/**
 * The database's clock, which decides what is due, watched for steps. A clock that is set back or forward, or the clock of
 * another server after a fail-over, would leave waiting rows stuck, or let leases and agents expire early.
 *
 * Detection: each replica compares database time with its own monotonic clock. `stepped_ms` in the database is the sum of
 * all steps that were handled; a difference beyond that sum is new. It is measured again under the row's lock, so of several
 * replicas that notice a step one handles it, in one transaction with the sum.
 *
 * Until then `now` and `latest` follow the monotonic clock, so a replica that has not noticed a step takes nothing over
 * because of it. Restarts: `seen_at` is the last time seen; a clock behind it was set back while no replica ran.
 */
import type { PresenceTtls } from '../../domain/agent/agent.ts';
import { BackgroundLoop, type LoopWatch } from '../../time/repeat-until-stopped.ts';
import { type Database, type Session, untilNotDeadlocked } from '../database/database.ts';
import { extendLeases } from '../operations/writer/extend-leases.ts';
import {
  type ClockReading,
  middleOf,
  narrowed,
  type OffsetRange,
  offsetOf,
  stepBetween,
} from './clock-reading.ts';
import { rearmAfterStep } from './clock-step.ts';

/** The time as the store uses it; see DatabaseClock. */
export interface DatabaseTime {
  /** The database's time, without a step until that has been handled. */
  now(): Date;
  /** The database's time is not later than this unless it was stepped. */
  latest(): Date;
  /** The sum of the steps that `now` includes. */
  readonly steppedMs: number;
}

export interface DatabaseClockOptions {
  readonly database: Database;
  readonly leaseMs: number;
  readonly ttls: PresenceTtls;
  readonly monotonicNow: () => number;
  /** Called on the replica that handled a step; negative: back. */
  readonly onStep: (stepMs: number) => void;
  readonly watch: LoopWatch;
}

interface Sample extends ClockReading {
  readonly steppedMs: number;
  readonly seenMs: number;
}

/** A lease may lose a part of its last fifth, in which its holder starts nothing, and no more. */
const TOLERATED_SHARE = 0.1;
const MAX_TOLERANCE_MS = 1_000;
const MAX_TICK_MS = 1_000;
/** A running replica has updated `seen_at` more recently than this. */
const STALE_MS = 5_000;

const INSERT = `INSERT INTO database_clock (seen_at) VALUES (clock_timestamp()) ON CONFLICT DO NOTHING`;

const COLUMNS = `(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "databaseMs", stepped_ms AS "steppedMs",
  (extract(epoch FROM seen_at) * 1000)::float8 AS "seenMs"`;

/** A value that is lost in a crash of the database is written again a second later: it need not wait for the disk. */
const SAMPLE = `
  WITH seen AS (
    UPDATE database_clock SET seen_at = clock_timestamp()
    WHERE seen_at < clock_timestamp() - interval '1 s'
      AND set_config('synchronous_commit', 'off', true) IS NOT NULL)
  SELECT ${COLUMNS} FROM database_clock`;

const LOCK = `SELECT ${COLUMNS} FROM database_clock FOR UPDATE`;

const FOLLOW = `UPDATE database_clock SET seen_at = clock_timestamp(), stepped_ms = stepped_ms + $1`;

export class DatabaseClock implements DatabaseTime {
  readonly #options: DatabaseClockOptions;
  readonly #toleranceMs: number;
  readonly #loop: BackgroundLoop;
  /** Without the steps. */
  #known: OffsetRange = { low: 0, high: 0 };
  #steppedMs = 0;

  private constructor(options: DatabaseClockOptions) {
    this.#options = options;
    this.#toleranceMs = Math.min(MAX_TOLERANCE_MS, options.leaseMs * TOLERATED_SHARE);
    this.#loop = new BackgroundLoop({
      name: "comparing the database's clock",
      everyMs: Math.min(MAX_TICK_MS, options.leaseMs / 4),
      pass: () => this.check(),
      watch: options.watch,
    });
  }

  /** Reads the clock for the first time, and handles a step that was made while no replica ran. */
  static async open(options: DatabaseClockOptions): Promise<DatabaseClock> {
    const clock = new DatabaseClock(options);
    await clock.#open();
    return clock;
  }

  get steppedMs(): number {
    return this.#steppedMs;
  }

  now(): Date {
    return this.#at(middleOf(this.#known));
  }

  latest(): Date {
    return this.#at(this.#known.high + this.#toleranceMs);
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Compares the clocks once, and handles a step. */
  async check(): Promise<void> {
    const sample = await this.#sample(this.#options.database, 'clock-sample', SAMPLE);
    const seen = offsetOf(sample, sample.steppedMs);
    if (stepBetween(this.#known, seen, this.#toleranceMs) === 0) return this.#follow(sample);
    const stepMs = await untilNotDeadlocked(() => this.#handleStep());
    if (stepMs !== 0) this.#options.onStep(stepMs);
  }

  #at(offset: number): Date {
    return new Date(offset + this.#steppedMs + this.#options.monotonicNow());
  }

  #follow(sample: Sample): void {
    this.#known = narrowed(this.#known, offsetOf(sample, sample.steppedMs));
    this.#steppedMs = sample.steppedMs;
  }

  /** Returns the step; 0 when another replica was faster. */
  async #handleStep(): Promise<number> {
    const { database, leaseMs, ttls } = this.#options;
    const handled = await database.transaction(async (session) => {
      const sample = await this.#sample(session, 'clock-lock', LOCK);
      const stepMs = stepBetween(this.#known, offsetOf(sample, sample.steppedMs), this.#toleranceMs);
      if (stepMs !== 0) await rearmAfterStep(session, { stepMs, leaseMs, ttls });
      if (stepMs !== 0) await session.run('clock-follow', FOLLOW, [stepMs]);
      return { sample, stepMs };
    });
    this.#follow({ ...handled.sample, steppedMs: handled.sample.steppedMs + handled.stepMs });
    return handled.stepMs;
  }

  async #open(): Promise<void> {
    const { database, leaseMs, ttls, onStep } = this.#options;
    await database.run('clock-insert', INSERT);
    const opened = await database.transaction(async (session) => {
      const sample = await this.#sample(session, 'clock-lock', LOCK);
      const behindMs = Math.round(sample.seenMs - sample.databaseMs);
      const stepMs = behindMs > this.#toleranceMs ? -behindMs : 0;
      if (stepMs !== 0) await rearmAfterStep(session, { stepMs, leaseMs, ttls });
      // Either no replica ran, or the clock was stepped forward and the running replicas are about to notice.
      if (behindMs < -STALE_MS) await extendLeases(session, Math.min(leaseMs, 2 * MAX_TICK_MS));
      await session.run('clock-follow', FOLLOW, [stepMs]);
      return { sample, stepMs };
    });
    this.#steppedMs = opened.sample.steppedMs + opened.stepMs;
    this.#known = offsetOf(opened.sample, this.#steppedMs);
    if (opened.stepMs !== 0) onStep(opened.stepMs);
  }

  async #sample(session: Session, name: string, text: string): Promise<Sample> {
    const { monotonicNow } = this.#options;
    const askedAt = monotonicNow();
    const [row] = await session.run<{ databaseMs: number; steppedMs: number; seenMs: number }>(name, text);
    if (!row) throw new Error('the table database_clock is empty');
    return { ...row, askedAt, answeredAt: monotonicNow() };
  }
}
