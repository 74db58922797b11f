/**
 * Holds consoles: those that someone has open, and those that are recorded. A replica claims what no live replica holds, renews its
 * leases, and lets go of what no one wants any more. A replica that is killed takes its connections with it, because the programs that
 * have them end with their input; another one connects again after the lease.
 */
import { dropOldInput } from '../../store/consoles/console-input.ts';
import {
  claimConsoles,
  recordConsoles,
  releaseConsole,
  renewConsoles,
} from '../../store/consoles/console-lease.ts';
import { closeSession, findEndedSessions } from '../../store/consoles/console-sessions.ts';
import { BackgroundLoop, type LoopWatch } from '../../time/repeat-until-stopped.ts';
import { HeldConsole, type HeldConsoleDependencies } from './held-console.ts';

export interface ConsoleHostOptions extends HeldConsoleDependencies {
  /** The name of this replica, unlike that of any other, also after a restart. */
  readonly owner: string;
  /** Without a renewal for so long, another replica takes its consoles over. */
  readonly leaseMs: number;
  readonly watch: LoopWatch;
}

const EVERY_MS = 1_000;
const CLAIM_AT_ONCE = 20;
const RECORD_EVERY_MS = 5_000;
const ENDED_AT_ONCE = 50;
/** A console that was closed stays connected for so long: people come back. */
const LINGER_MS = 3_000;

interface Held {
  readonly console: HeldConsole;
  recorded: boolean;
  /** On the monotonic clock; null: it is wanted. */
  unwantedSince: number | null;
}

export class ConsoleHost {
  readonly #options: ConsoleHostOptions;
  readonly #loop: BackgroundLoop;
  readonly #held = new Map<string, Held>();
  readonly #closing = new Set<Promise<void>>();
  #recordAt = 0;

  constructor(options: ConsoleHostOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'holding serial consoles',
      everyMs: EVERY_MS,
      pass: () => this.#pass(),
      watch: options.watch,
      wake: options.signals.any,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Closes every connection, so that another replica can take over at once. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    for (const held of this.#held.values()) this.#letGo(held, 'elsewhere');
    await Promise.all(this.#closing);
  }

  async #pass(): Promise<void> {
    await this.#endSessions();
    await this.#record();
    await this.#renew();
    await this.#claim();
  }

  async #endSessions(): Promise<void> {
    const { database, now } = this.#options;
    for (const { actor, ...ended } of await findEndedSessions(database, ENDED_AT_ONCE)) {
      const change = { actor, at: now(), comment: 'its client is gone' };
      await database.transaction((session) => closeSession(session, ended, change));
    }
  }

  async #record(): Promise<void> {
    const { database, providers, monotonicNow } = this.#options;
    if (monotonicNow() < this.#recordAt) return;
    const recording = [...providers.values()].filter(({ capabilities }) => capabilities.console?.record);
    await recordConsoles(
      database,
      recording.map(({ name }) => name),
    );
    await dropOldInput(database);
    this.#recordAt = monotonicNow() + RECORD_EVERY_MS;
  }

  async #renew(): Promise<void> {
    const { database, owner, leaseMs, monotonicNow } = this.#options;
    if (this.#held.size === 0) return;
    const kept = new Map(
      (await renewConsoles(database, { owner, leaseMs })).map((console) => [console.machineId, console]),
    );
    const now = monotonicNow();
    for (const [machineId, held] of this.#held) {
      const found = kept.get(machineId);
      if (!found) {
        this.#letGo(held, 'elsewhere');
        continue;
      }
      held.recorded = found.recorded;
      held.console.renewed(found);
      if (found.recorded || found.sessions > 0) held.unwantedSince = null;
      else held.unwantedSince ??= now;
      if (held.unwantedSince !== null && now - held.unwantedSince >= LINGER_MS) this.#letGo(held, 'unwanted');
    }
  }

  async #claim(): Promise<void> {
    const { database, owner, leaseMs } = this.#options;
    const room = this.#mostRecorded() - this.#recordedHere();
    const claimed = await claimConsoles(database, {
      owner,
      leaseMs,
      limit: room > 0 ? Math.min(room, CLAIM_AT_ONCE) : CLAIM_AT_ONCE,
      which: room > 0 ? 'all' : 'read',
    });
    for (const claim of claimed) {
      const before = this.#held.get(claim.machineId);
      // A claim of our own that had lapsed.
      if (before) this.#letGo(before, 'elsewhere');
      const console = new HeldConsole(claim, this.#options);
      const held: Held = { console, recorded: claim.recorded, unwantedSince: null };
      this.#held.set(claim.machineId, held);
      void console.over.then(() => {
        if (this.#held.get(claim.machineId) === held) this.#held.delete(claim.machineId);
      });
    }
  }

  #letGo(held: Held, why: 'unwanted' | 'elsewhere'): void {
    const { database, onUnexpected } = this.#options;
    const { claim, over } = held.console;
    this.#held.delete(claim.machineId);
    held.console.stop();
    const closing = over
      .then(() => releaseConsole(database, claim, why))
      // The lease ends by itself.
      .catch((error: unknown) => onUnexpected(claim.machineId, error))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #recordedHere(): number {
    return [...this.#held.values()].filter(({ recorded }) => recorded).length;
  }

  #mostRecorded(): number {
    const limits = [...this.#options.providers.values()].map(
      ({ capabilities }) => capabilities.console?.maxRecorded ?? 0,
    );
    return Math.max(0, ...limits);
  }
}
