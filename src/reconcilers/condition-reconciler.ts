/**
 * Probes every machine once an interval, and keeps its conditions current. One loop claims probes that are due, as many as
 * there are free slots, and sleeps until the next is due or slots are free again. Each probe then runs on its own: it probes the
 * machine, applies the rules, and records what changed. Records are written in batches. store/machines/machine-probes.ts
 * decides when probes are due and which replica has one, derive-conditions.ts what a result means.
 *
 * No result has to be kept: the next probe gives it again. So a record that fails, that comes late or that finds its machine
 * changed or locked by an operation is dropped, and an operation never waits for a probe.
 */
import { setMaxListeners } from 'node:events';
import type { Actor } from '../domain/actor.ts';
import { applyChange } from '../domain/machine/machine-change.ts';
import type { Provider } from '../providers/provider.ts';
import { Coalescer } from '../store/database/coalescer.ts';
import { type Database, isStatementError } from '../store/database/database.ts';
import {
  claimProbes,
  insertMissingProbes,
  nextProbeInMs,
  type Probe,
  type ProbeRecord,
  recordProbes,
  releaseProbes,
  spreadProbes,
} from '../store/machines/machine-probes.ts';
import { BackgroundLoop, type LoopWatch, type PassResult } from '../time/repeat-until-stopped.ts';
import { Signal } from '../time/signal.ts';
import { waitAtMost } from '../time/wait-at-most.ts';
import { deriveConditions, type ProbeResults } from './derive-conditions.ts';
import { NOTHING_SEEN, probeMachine } from './probe-machine.ts';
import { ProbeSlots } from './probe-slots.ts';

export interface ProbeSettings {
  /** Every machine is probed once in this time. */
  readonly intervalMs: number;
  /** Probes that run at the same time. */
  readonly concurrency: number;
  readonly probeTimeoutMs: number;
  /** This many probes in a row must get no answer before a machine counts as unreachable. */
  readonly maxMisses: number;
}

export interface ConditionReconcilerOptions {
  /** Best a small pool for probes alone, so that operations never wait behind them. */
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly settings: ProbeSettings;
  readonly now: () => Date;
  readonly monotonicNow: () => number;
  readonly watch: LoopWatch;
  readonly onError: (error: unknown, during: string) => void;
  /** This many probes could not be made in time, and were postponed. Called at most once an interval. */
  readonly onBehind: (postponed: number) => void;
}

const ACTOR: Actor = { kind: 'system', id: 'reconciler' };

/** The loop, as the log and /readyz name it. */
const CLAIMING = 'claiming probes of machines';
/** The shortest and the longest sleep of the loop. */
const TICK_MS = 100;
const POLL_MS = 1_000;
/** New and late probes are scheduled this often, and a few of them within this time. */
const SPREAD_MS = 1_000;
const SCHEDULED_AT_ONCE = 2_000;
/**
 * A machine's first probe is scheduled when it is registered; the search finds machines that were added some other way. It
 * reads an index of the whole fleet, so it may use at most one part in this many of the time.
 */
const SEARCH_SHARE = 50;

export class ConditionReconciler {
  readonly #options: ConditionReconcilerOptions;
  readonly #slots: ProbeSlots;
  readonly #records: Coalescer<ProbeRecord, boolean>;
  readonly #inHand = new Set<Promise<void>>();
  readonly #wake = new Signal();
  readonly #stopping = new AbortController();
  readonly #lateMs: number;
  /** Providers with more probes due than free slots. */
  readonly #full = new Set<string>();
  readonly #loggedUntil = new Map<string, number>();
  #notMade: Probe[] = [];
  readonly #loop: BackgroundLoop;
  #searchAt = Number.NEGATIVE_INFINITY;
  #spreadAt = Number.NEGATIVE_INFINITY;
  #behind = { postponed: 0, since: 0 };

  constructor(options: ConditionReconcilerOptions) {
    const { database, providers, settings, monotonicNow } = options;
    this.#options = options;
    this.#slots = new ProbeSlots(settings.concurrency, providers.keys());
    this.#lateMs = Math.max(1_000, settings.intervalMs / 50);
    this.#behind = { postponed: 0, since: monotonicNow() };
    this.#records = new Coalescer({
      maxBatch: 500,
      maxUnderWay: 1,
      flush: async (records) => {
        const written = await recordProbes(database, records);
        return records.map(({ probe }) => written.has(probe.machine.machineId));
      },
      isPoisoned: isStatementError,
    });
    this.#loop = new BackgroundLoop({
      name: CLAIMING,
      everyMs: POLL_MS,
      pass: () => this.#sweepOnce(),
      watch: options.watch,
      wake: this.#wake,
    });
    setMaxListeners(0, this.#stopping.signal);
  }

  start(): void {
    this.#loop.start();
  }

  /** There may be new machines, or probes that are due. */
  wake(): void {
    this.#searchAt = Number.NEGATIVE_INFINITY;
    this.#spreadAt = Number.NEGATIVE_INFINITY;
    this.#wake.notify();
  }

  get probesInHand(): number {
    return this.#inHand.size;
  }

  /** Starts nothing new, ends the probes that run, and releases those that were not made. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    await waitAtMost(
      graceMs,
      this.#loop.stop().then(() => Promise.allSettled(this.#inHand)),
    );
    const notMade = this.#notMade;
    this.#notMade = [];
    if (notMade.length === 0) return;
    await releaseProbes(this.#options.database, notMade).catch((error: unknown) =>
      this.#options.onError(error, 'releasing probes'),
    );
  }

  /** Claims as many probes as there are free slots. */
  async #sweepOnce(): Promise<PassResult> {
    const more = await this.#schedule();
    this.#full.clear();
    for (const [name, provider] of this.#options.providers) {
      const room = this.#slots.room(name);
      const claimed = room > 0 ? await this.#claim(name, provider, room) : 0;
      if (claimed === room) this.#full.add(name);
    }
    if (more) return { nextInMs: 0 };
    if (this.#full.size > 0) return { nextInMs: TICK_MS };
    const next = await nextProbeInMs(this.#options.database, this.#lateMs);
    return { nextInMs: Math.max(TICK_MS, Math.min(next ?? POLL_MS, POLL_MS)) };
  }

  /** Schedules a limited number, so that claims continue meanwhile; returns whether there may be more. */
  async #schedule(): Promise<boolean> {
    const { database, settings, monotonicNow } = this.#options;
    const startedAt = monotonicNow();
    let more = false;
    if (startedAt >= this.#searchAt) {
      more = (await insertMissingProbes(database, SCHEDULED_AT_ONCE)) === SCHEDULED_AT_ONCE;
      const tookMs = monotonicNow() - startedAt;
      const pauseMs = Math.max(SPREAD_MS, Math.min(tookMs * SEARCH_SHARE, settings.intervalMs / 4));
      if (!more) this.#searchAt = startedAt + pauseMs;
    }
    if (startedAt < this.#spreadAt) return more;
    const { intervalMs, concurrency } = settings;
    const soonMs = Math.min(SPREAD_MS, intervalMs);
    const options = { lateMs: this.#lateMs, few: concurrency, soonMs, intervalMs, limit: SCHEDULED_AT_ONCE };
    const { fresh, late } = await spreadProbes(database, options);
    this.#behind.postponed += late;
    this.#reportIfBehind();
    if (fresh + late === SCHEDULED_AT_ONCE) return true;
    this.#spreadAt = startedAt + SPREAD_MS;
    return more;
  }

  #reportIfBehind(): void {
    const { settings, monotonicNow, onBehind } = this.#options;
    if (this.#behind.postponed === 0 || monotonicNow() - this.#behind.since < settings.intervalMs) return;
    onBehind(this.#behind.postponed);
    this.#behind = { postponed: 0, since: monotonicNow() };
  }

  async #claim(name: string, provider: Provider, limit: number): Promise<number> {
    const { database, settings, monotonicNow } = this.#options;
    const { intervalMs } = settings;
    const askedAt = monotonicNow();
    const probes = await claimProbes(database, { provider: name, limit, intervalMs, lateMs: this.#lateMs });
    // After a slow claim another replica may probe the machine already: this one must not start.
    if (monotonicNow() - askedAt > intervalMs / 4) return 0;
    for (const probe of probes) this.#take(probe, provider);
    return probes.length;
  }

  #take(probe: Probe, provider: Provider): void {
    this.#slots.take(provider.name);
    const work = this.#make(probe, provider)
      .catch((error: unknown) => this.#logOnce(error, 'recording probes'))
      .finally(() => {
        this.#inHand.delete(work);
        this.#slots.free(provider.name);
        this.#wakeWhenFree(provider.name);
      });
    this.#inHand.add(work);
  }

  /** Not for every free slot: a claim costs the same for one probe as for many. */
  #wakeWhenFree(provider: string): void {
    if (!this.#full.has(provider)) return;
    if (this.#slots.room(provider) >= this.#slots.used(provider)) this.#wake.notify();
  }

  async #make(probe: Probe, provider: Provider): Promise<void> {
    const { settings, now } = this.#options;
    const { machine } = probe;
    const seen = await this.#see(probe, provider);
    if (seen === null) {
      this.#notMade.push(probe);
      return;
    }
    const { changes, misses } = deriveConditions(machine, seen, probe.misses, settings.maxMisses);
    const counted = misses.host !== probe.misses.host || misses.bmc !== probe.misses.bmc;
    const cause = { at: now(), actor: ACTOR, operationId: null };
    const changed = applyChange(machine, { conditions: changes }, cause);
    const conditions = changed.machine.conditions === machine.conditions ? null : changed.machine.conditions;
    if (conditions === null && !counted) return;
    await this.#records.submit({ probe, misses, conditions, events: changed.events });
  }

  /** A machine with an active operation and a retired one are not probed. */
  async #see({ machine }: Probe, provider: Provider): Promise<ProbeResults | null> {
    const { settings } = this.#options;
    const { inspect } = provider.capabilities;
    const isSkipped = machine.activeOperationId !== null || machine.conditions.Retired?.status === true;
    if (isSkipped || !inspect) return NOTHING_SEEN;
    return probeMachine(machine, inspect, {
      // Over well before the machine's next probe, on whichever replica.
      limitMs: Math.min(settings.probeTimeoutMs, settings.intervalMs / 2),
      stop: this.#stopping.signal,
      onProbeError: (error, kind) => this.#logOnce(error, `asking ${provider.name} about a ${kind}`),
    });
  }

  /** Once an interval: what fails for one machine usually fails for all of them. */
  #logOnce(error: unknown, during: string): void {
    const { settings, monotonicNow, onError } = this.#options;
    const at = monotonicNow();
    if (at < (this.#loggedUntil.get(during) ?? Number.NEGATIVE_INFINITY)) return;
    this.#loggedUntil.set(during, at + settings.intervalMs);
    onError(error, during);
  }
}
