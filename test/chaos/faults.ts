/**
 * Which faults happen, and when. The plan follows from the seed and is laid over the run's progress, not its
 * time: a slow machine suffers the same storm as a fast one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashPoint } from '../../src/engine/run-job.ts';
import { CRASH_POINTS } from './replica-messages.ts';
import { type ReplicaProcess, within } from './replica-process.ts';
import type { ReplicaSet } from './replica-set.ts';
import type { RestartablePostgres, ShutdownMode } from './restartable-postgres.ts';
import type { Random } from './seeded-random.ts';
import type { StormDatabase } from './storm-database.ts';

export type Place = CrashPoint | 'anywhere';

export type Fault =
  | { readonly kind: 'kill'; readonly place: Place }
  /** Stopped until its leases have run out and were taken over, then woken. */
  | { readonly kind: 'freeze'; readonly place: Place | 'all_at_once' }
  | { readonly kind: 'handover' }
  | { readonly kind: 'database'; readonly mode: ShutdownMode };

export interface PlannedFault {
  /** The share of the operations that have ended by then. */
  readonly at: number;
  readonly fault: Fault;
}

export interface FaultCounts {
  readonly kills: number;
  readonly freezes: number;
  readonly handovers: number;
  readonly databaseRestarts: number;
}

const KILL_PLACES = ['anywhere', ...CRASH_POINTS] as const;
const FREEZE_PLACES = [
  'before_effect',
  'all_at_once',
  'before_commit',
  'anywhere',
  'after_effect',
  'after_claim',
] as const;

export function planFaults(counts: FaultCounts, random: Random): PlannedFault[] {
  const spread = (count: number, fault: (index: number) => Fault): PlannedFault[] =>
    Array.from({ length: count }, (_, index) => ({
      at: (0.97 * (index + 0.2 + 0.6 * random.next())) / count,
      fault: fault(index),
    }));
  return [
    ...spread(counts.kills, (index) => ({ kind: 'kill', place: inTurn(KILL_PLACES, index) })),
    ...spread(counts.freezes, (index) => ({ kind: 'freeze', place: inTurn(FREEZE_PLACES, index) })),
    ...spread(counts.handovers, () => ({ kind: 'handover' })),
    ...spread(counts.databaseRestarts, (index) => ({
      kind: 'database',
      mode: inTurn(['immediate', 'fast'] as const, index),
    })),
  ].sort((left, right) => left.at - right.at);
}

function inTurn<T>(items: readonly [T, ...T[]], index: number): T {
  return items[index % items.length] ?? items[0];
}

export interface FaultDependencies {
  readonly replicas: ReplicaSet;
  readonly postgres: RestartablePostgres;
  readonly database: StormDatabase;
  readonly random: Random;
  /** The share of the operations that have ended. */
  readonly progress: () => number;
  readonly over: AbortSignal;
}

/** How long a point may stay unreached before the fault strikes wherever the replica is. */
const PATIENCE_MS = 3_000;
const TAKEOVER_MS = 30_000;

export class FaultInjector {
  readonly kills: Record<string, number> = {};
  readonly freezes: Record<string, number> = {};
  handovers = 0;
  databaseRestarts = 0;
  readonly #dependencies: FaultDependencies;

  constructor(dependencies: FaultDependencies) {
    this.#dependencies = dependencies;
  }

  /** Kills come one after the other; what takes longer goes on beside them. */
  async run(plan: readonly PlannedFault[]): Promise<void> {
    const beside: Promise<void>[] = [];
    for (const { at, fault } of plan) {
      while (this.#dependencies.progress() < at && !this.#dependencies.over.aborted) await sleep(10);
      if (this.#dependencies.over.aborted) break;
      const struck = this.#strike(fault);
      if (fault.kind === 'kill') await struck;
      else beside.push(struck);
    }
    await Promise.all(beside);
  }

  #strike(fault: Fault): Promise<void> {
    switch (fault.kind) {
      case 'kill':
        return this.#kill(fault.place);
      case 'freeze':
        return fault.place === 'all_at_once' ? this.#freezeAll() : this.#freeze(fault.place);
      case 'handover':
        return this.#handOver();
      case 'database':
        return this.#restartDatabase(fault.mode);
    }
  }

  async #kill(place: Place): Promise<void> {
    const victim = await this.#victim('kill');
    const obeyed =
      place !== 'anywhere' &&
      (await victim.order({ fault: 'kill', point: place, after: this.#after() }, PATIENCE_MS));
    if (!obeyed) victim.kill();
    await victim.exited;
    count(this.kills, obeyed ? place : 'anywhere');
  }

  async #freeze(place: Place): Promise<void> {
    const victim = await this.#victim('stop');
    const obeyed =
      place !== 'anywhere' &&
      (await victim.order({ fault: 'stop', point: place, after: this.#after() }, PATIENCE_MS));
    if (!obeyed) victim.freeze();
    await this.#until('SELECT 1 FROM operations WHERE owner LIKE $1 LIMIT 1', [victim]);
    await this.#wake([victim]);
    count(this.freezes, obeyed ? place : 'anywhere');
  }

  /** As when the host of all of them was suspended: each finds its own leases run out, and may claim them again. */
  async #freezeAll(): Promise<void> {
    const victims = this.#dependencies.replicas.ready;
    for (const victim of victims) victim.freeze();
    await this.#until('SELECT 1 FROM operations WHERE owner LIKE $1 AND due_at > now() LIMIT 1', victims);
    await this.#wake(victims);
    count(this.freezes, 'all_at_once');
  }

  async #wake(victims: readonly ReplicaProcess[]): Promise<void> {
    // The new holders get some time to continue, so that a stale write could do damage.
    await sleep(this.#dependencies.random.below(200));
    for (const victim of victims) victim.thaw();
  }

  /** Until the query finds none of their operations any more. */
  async #until(query: string, victims: readonly ReplicaProcess[]): Promise<void> {
    const deadline = performance.now() + TAKEOVER_MS;
    for (const { pid } of victims) {
      while (performance.now() < deadline) {
        const found = await this.#dependencies.database.rows(query, [`%-${pid}-________`]);
        if (found.length === 0) break;
        await sleep(50);
      }
    }
  }

  async #handOver(): Promise<void> {
    const victim = await this.#victim('terminate');
    victim.terminate();
    await within(TAKEOVER_MS, victim.exited);
    this.handovers += 1;
  }

  async #restartDatabase(mode: ShutdownMode): Promise<void> {
    await this.#dependencies.postgres.restart(mode);
    this.databaseRestarts += 1;
  }

  /** Marked at once, so that no other fault picks the same one. */
  async #victim(fault: NonNullable<ReplicaProcess['orderedEnd']>): Promise<ReplicaProcess> {
    await this.#dependencies.replicas.anyUnharmed();
    const [first, ...others] = this.#dependencies.replicas.unharmed;
    if (!first) return this.#victim(fault);
    const victim = this.#dependencies.random.pick([first, ...others]);
    victim.orderedEnd = fault;
    return victim;
  }

  #after(): number {
    return 1 + this.#dependencies.random.below(12);
  }
}

function count(table: Record<string, number>, key: string): void {
  table[key] = (table[key] ?? 0) + 1;
}
