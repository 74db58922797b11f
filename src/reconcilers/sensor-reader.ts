/**
 * Reads what BMCs measure and log, each machine once an interval. One loop claims readings that are due, as many as there are free slots;
 * each then runs on its own and is recorded by itself. store/hardware/sensor-schedule.ts decides when readings are due and which replica
 * makes one.
 *
 * The cost is bounded: so many readings at a time, one caller for each BMC, a time limit for each reading, and limits for what one
 * reading asks for. It is never in the way: a machine with an active operation is left out, and a reading ends at once when an
 * operation or a probe wants the BMC. What is missed is read the next time.
 */
import { setMaxListeners } from 'node:events';
import { StepFailure } from '../engine/step-handler.ts';
import type { Provider, Sensors } from '../providers/provider.ts';
import type { Database } from '../store/database/database.ts';
import { scoreMachines } from '../store/hardware/lemon-scores.ts';
import { recordProblem, recordReading } from '../store/hardware/sensor-readings.ts';
import {
  claimReadings,
  type DueReading,
  insertMissingReadings,
  nextReadingInMs,
  retryReading,
} from '../store/hardware/sensor-schedule.ts';
import { BackgroundLoop, type LoopWatch, type PassResult } from '../time/repeat-until-stopped.ts';
import { Signal } from '../time/signal.ts';
import { waitAtMost } from '../time/wait-at-most.ts';
import { ProbeSlots } from './probe-slots.ts';

export interface SensorSettings {
  /** Every BMC is read once in this time. */
  readonly intervalMs: number;
  /** Readings that run at the same time. */
  readonly concurrency: number;
  /** For one reading. */
  readonly timeoutMs: number;
}

export interface SensorReaderOptions {
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly settings: SensorSettings;
  readonly now: () => Date;
  readonly monotonicNow: () => number;
  readonly watch: LoopWatch;
  readonly onError: (error: unknown, during: string) => void;
}

/** The shortest and the longest sleep of the loop. */
const TICK_MS = 100;
const POLL_MS = 1_000;
/** Machines that have no reading yet are searched for this often, at least. */
const SEARCH_MS = 10_000;
const SEARCHED_AT_ONCE = 2_000;
/** A BMC that was in use is read again after this time. */
const BUSY_MS = 30_000;

export class SensorReader {
  readonly #options: SensorReaderOptions;
  readonly #readers: ReadonlyMap<string, Sensors>;
  readonly #slots: ProbeSlots;
  readonly #inHand = new Set<Promise<void>>();
  readonly #wake = new Signal();
  readonly #stopping = new AbortController();
  readonly #loop: BackgroundLoop;
  #searchAt = Number.NEGATIVE_INFINITY;
  #loggedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: SensorReaderOptions) {
    const { providers, settings, watch } = options;
    this.#options = options;
    this.#readers = new Map(
      [...providers].flatMap(
        ([
          name,
          {
            capabilities: { sensors },
          },
        ]) => (sensors ? [[name, sensors]] : []),
      ),
    );
    this.#slots = new ProbeSlots(settings.concurrency, this.#readers.keys());
    this.#loop = new BackgroundLoop({
      name: 'reading sensors of machines',
      everyMs: POLL_MS,
      pass: () => this.#sweepOnce(),
      watch,
      wake: this.#wake,
    });
    setMaxListeners(0, this.#stopping.signal);
  }

  start(): void {
    this.#loop.start();
  }

  get readingsInHand(): number {
    return this.#inHand.size;
  }

  /** Starts nothing new and ends the readings that run. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    await waitAtMost(
      graceMs,
      this.#loop.stop().then(() => Promise.allSettled(this.#inHand)),
    );
  }

  async #sweepOnce(): Promise<PassResult> {
    const { database, settings } = this.#options;
    await this.#search();
    let isFull = false;
    for (const [provider, sensors] of this.#readers) {
      const room = this.#slots.room(provider);
      const claimed =
        room > 0
          ? await claimReadings(database, { provider, limit: room, intervalMs: settings.intervalMs })
          : [];
      for (const due of claimed) this.#take(due, provider, sensors);
      if (claimed.length === room) isFull = true;
    }
    if (isFull) return { nextInMs: POLL_MS };
    const next = await nextReadingInMs(database);
    return { nextInMs: Math.max(TICK_MS, Math.min(next ?? POLL_MS, POLL_MS)) };
  }

  async #search(): Promise<void> {
    const { database, settings, monotonicNow } = this.#options;
    if (monotonicNow() < this.#searchAt) return;
    const found = await insertMissingReadings(database, {
      limit: SEARCHED_AT_ONCE,
      // A few machines more are no burst, and an operator waits for the first values.
      few: settings.concurrency,
      soonMs: POLL_MS,
      intervalMs: settings.intervalMs,
      providers: [...this.#readers.keys()],
    });
    if (found < SEARCHED_AT_ONCE)
      this.#searchAt = monotonicNow() + Math.min(SEARCH_MS, settings.intervalMs / 2);
  }

  #take(due: DueReading, provider: string, sensors: Sensors): void {
    this.#slots.take(provider);
    const work = this.#make(due, sensors)
      .catch((error: unknown) => this.#logOnce(error))
      .finally(() => {
        this.#inHand.delete(work);
        this.#slots.free(provider);
        // Not for every free slot: a claim costs the same for one reading as for many.
        if (this.#slots.room(provider) >= this.#slots.used(provider)) this.#wake.notify();
      });
    this.#inHand.add(work);
  }

  async #make(due: DueReading, sensors: Sensors): Promise<void> {
    const { database, settings, now } = this.#options;
    const { machine, known } = due;
    const isRetired = machine.conditions.Retired?.status === true;
    if (machine.activeOperationId !== null || machine.spec.bmc_endpoint === '' || isRetired) return;
    const limit = AbortSignal.timeout(Math.min(settings.timeoutMs, settings.intervalMs));
    try {
      const found = await sensors.read(machine, known, AbortSignal.any([limit, this.#stopping.signal]));
      if (found === null) {
        await retryReading(database, due, Math.min(BUSY_MS, settings.intervalMs));
        return;
      }
      const recorded = await recordReading(database, due, found, now());
      if (recorded !== null && recorded.newEntries > 0) await scoreMachines(database, [machine.machineId]);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const problem = limit.aborted
        ? `the BMC did not answer everything within ${settings.timeoutMs / 1000} s`
        : error instanceof StepFailure
          ? error.failure.message
          : null;
      if (problem === null) throw error;
      await recordProblem(database, due, problem);
    }
  }

  /** Once an interval: what fails for one machine usually fails for all of them. */
  #logOnce(error: unknown): void {
    const { settings, monotonicNow, onError } = this.#options;
    if (monotonicNow() < this.#loggedUntil) return;
    this.#loggedUntil = monotonicNow() + settings.intervalMs;
    onError(error, 'reading sensors of a machine');
  }
}
