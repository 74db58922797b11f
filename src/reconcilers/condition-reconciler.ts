/**
 * Looks at every machine once an interval, and keeps its conditions true. One loop claims looks that are due, as
 * many as there is room for, and sleeps until the next is due or room has become; each look then goes its own way:
 * probes, rules, and a record if they found anything new. Records meet in batches. When looks are due and who has
 * one is the business of store/machines/machine-probes.ts, what a look means that of derive-conditions.ts.
 *
 * Nothing that a look told has to be kept: the next look tells it again. So a record that fails, that comes late or
 * that finds its machine changed or locked by an operation is dropped, and an operation never waits for a look.
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
import { sleep } from '../time/sleep.ts';
import { deriveConditions, type ProbeResults } from './derive-conditions.ts';
import { NOTHING_SEEN, probeMachine } from './probe-machine.ts';
import { ProbeSlots } from './probe-slots.ts';

export interface ProbeSettings {
  /** Every machine is looked at once in this time. */
  readonly intervalMs: number;
  /** Looks under way at the same moment. */
  readonly concurrency: number;
  readonly probeTimeoutMs: number;
  /** So many looks in a row must find nobody there before a machine counts as unreachable. */
  readonly patience: number;
}

export interface ConditionReconcilerOptions {
  /** Best a small pool of its own, so that looks never stand in line before operations. */
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly settings: ProbeSettings;
  readonly now: () => Date;
  readonly monotonicNow: () => number;
  readonly watch: LoopWatch;
  readonly onError: (error: unknown, during: string) => void;
  /** So many looks could not be made in time, and were put off. Told once an interval at most. */
  readonly onBehind: (looks: number) => void;
}

const ACTOR: Actor = { kind: 'system', id: 'reconciler' };

/** The loop, as the log and /readyz name it. */
const CLAIMING = 'claiming probes of machines';
/** The shortest and the longest sleep of the loop. */
const TICK_MS = 100;
const POLL_MS = 1_000;
/** New and late looks are given their times this often, a few of them a time within this. */
const SPREAD_MS = 1_000;
const GIVEN_AT_ONCE = 2_000;
/**
 * A machine gets its first look where it is registered; the search is for those that came some other way. It reads an
 * index of the whole fleet, so it may take one part in so many of the time.
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
  /** Providers with more to do than there was room for. */
  readonly #crowded = new Set<string>();
  readonly #complaints = new Map<string, number>();
  #unmade: Probe[] = [];
  readonly #loop: BackgroundLoop;
  #searchAt = Number.NEGATIVE_INFINITY;
  #spreadAt = Number.NEGATIVE_INFINITY;
  #behind = { looks: 0, since: 0 };

  constructor(options: ConditionReconcilerOptions) {
    const { database, providers, settings, monotonicNow } = options;
    this.#options = options;
    this.#slots = new ProbeSlots(settings.concurrency, providers.keys());
    this.#lateMs = Math.max(1_000, settings.intervalMs / 50);
    this.#behind = { looks: 0, since: monotonicNow() };
    this.#records = new Coalescer({
      maxBatch: 500,
      maxUnderWay: 1,
      flush: async (records) => {
        const written = await recordProbes(database, records);
        return records.map(({ look }) => written.has(look.machine.machineId));
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

  /** There may be machines that are new, or looks that are due. */
  wake(): void {
    this.#searchAt = Number.NEGATIVE_INFINITY;
    this.#spreadAt = Number.NEGATIVE_INFINITY;
    this.#wake.notify();
  }

  get looksInHand(): number {
    return this.#inHand.size;
  }

  /** Begins nothing new, ends the probes under way, and hands back what was not looked at. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    const finished = new AbortController();
    void this.#loop
      .stop()
      .then(() => Promise.allSettled(this.#inHand))
      .then(() => finished.abort());
    await sleep(graceMs, finished.signal);
    const unmade = this.#unmade;
    this.#unmade = [];
    if (unmade.length === 0) return;
    await releaseProbes(this.#options.database, unmade).catch((error: unknown) =>
      this.#options.onError(error, 'handing looks back'),
    );
  }

  /** Claims what there is room for. */
  async #sweepOnce(): Promise<PassResult> {
    const more = await this.#giveTimes();
    this.#crowded.clear();
    for (const [name, provider] of this.#options.providers) {
      const room = this.#slots.room(name);
      const claimed = room > 0 ? await this.#claim(name, provider, room) : 0;
      if (claimed === room) this.#crowded.add(name);
    }
    if (more) return { nextInMs: 0 };
    if (this.#crowded.size > 0) return { nextInMs: TICK_MS };
    const next = await nextProbeInMs(this.#options.database, this.#lateMs);
    return { nextInMs: Math.max(TICK_MS, Math.min(next ?? POLL_MS, POLL_MS)) };
  }

  /** A part of what there is at a time, so that claims go on meanwhile; returns whether there may be more. */
  async #giveTimes(): Promise<boolean> {
    const { database, settings, monotonicNow } = this.#options;
    const startedAt = monotonicNow();
    let more = false;
    if (startedAt >= this.#searchAt) {
      more = (await insertMissingProbes(database, GIVEN_AT_ONCE)) === GIVEN_AT_ONCE;
      const tookMs = monotonicNow() - startedAt;
      const pauseMs = Math.max(SPREAD_MS, Math.min(tookMs * SEARCH_SHARE, settings.intervalMs / 4));
      if (!more) this.#searchAt = startedAt + pauseMs;
    }
    if (startedAt < this.#spreadAt) return more;
    const { intervalMs, concurrency } = settings;
    const soonMs = Math.min(SPREAD_MS, intervalMs);
    const options = { lateMs: this.#lateMs, few: concurrency, soonMs, intervalMs, limit: GIVEN_AT_ONCE };
    const { fresh, late } = await spreadProbes(database, options);
    this.#behind.looks += late;
    this.#tellIfBehind();
    if (fresh + late === GIVEN_AT_ONCE) return true;
    this.#spreadAt = startedAt + SPREAD_MS;
    return more;
  }

  #tellIfBehind(): void {
    const { settings, monotonicNow, onBehind } = this.#options;
    if (this.#behind.looks === 0 || monotonicNow() - this.#behind.since < settings.intervalMs) return;
    onBehind(this.#behind.looks);
    this.#behind = { looks: 0, since: monotonicNow() };
  }

  async #claim(name: string, provider: Provider, limit: number): Promise<number> {
    const { database, settings, monotonicNow } = this.#options;
    const { intervalMs } = settings;
    const askedAt = monotonicNow();
    const looks = await claimProbes(database, { provider: name, limit, intervalMs, lateMs: this.#lateMs });
    // Whoever slept on a claim may find the machine in other hands by now, and must not begin.
    if (monotonicNow() - askedAt > intervalMs / 4) return 0;
    for (const look of looks) this.#take(look, provider);
    return looks.length;
  }

  #take(look: Probe, provider: Provider): void {
    this.#slots.take(provider.name);
    const work = this.#make(look, provider)
      .catch((error: unknown) => this.#complain(error, 'recording looks'))
      .finally(() => {
        this.#inHand.delete(work);
        this.#slots.free(provider.name);
        this.#wakeWhenRoomy(provider.name);
      });
    this.#inHand.add(work);
  }

  /** Not for every single one: a claim costs the same for one look as for many. */
  #wakeWhenRoomy(provider: string): void {
    if (!this.#crowded.has(provider)) return;
    if (this.#slots.room(provider) >= this.#slots.used(provider)) this.#wake.notify();
  }

  async #make(look: Probe, provider: Provider): Promise<void> {
    const { settings, now } = this.#options;
    const { machine } = look;
    const seen = await this.#see(look, provider);
    if (seen === null) {
      this.#unmade.push(look);
      return;
    }
    const { changes, misses } = deriveConditions(machine, seen, look.misses, settings.patience);
    const counted = misses.host !== look.misses.host || misses.bmc !== look.misses.bmc;
    const cause = { at: now(), actor: ACTOR, operationId: null };
    const changed = applyChange(machine, { conditions: changes }, cause);
    const conditions = changed.machine.conditions === machine.conditions ? null : changed.machine.conditions;
    if (conditions === null && !counted) return;
    await this.#records.submit({ look, misses, conditions, events: changed.events });
  }

  /** A machine that an operation is working on, and one that is gone for good, are left in peace. */
  async #see({ machine }: Probe, provider: Provider): Promise<ProbeResults | null> {
    const { settings } = this.#options;
    const { inspect } = provider.capabilities;
    const inPeace = machine.activeOperationId !== null || machine.conditions.Retired?.status === true;
    if (inPeace || !inspect) return NOTHING_SEEN;
    return probeMachine(machine, inspect, {
      // Over well before the machine's next look, whoever makes that.
      limitMs: Math.min(settings.probeTimeoutMs, settings.intervalMs / 2),
      stop: this.#stopping.signal,
      onProbeError: (error, probe) => this.#complain(error, `asking ${provider.name} about a ${probe}`),
    });
  }

  /** Once an interval: what fails for one machine mostly fails for all of them. */
  #complain(error: unknown, during: string): void {
    const { settings, monotonicNow, onError } = this.#options;
    const at = monotonicNow();
    if (at < (this.#complaints.get(during) ?? Number.NEGATIVE_INFINITY)) return;
    this.#complaints.set(during, at + settings.intervalMs);
    onError(error, during);
  }
}
