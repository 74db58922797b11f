/**
 * The store of keepalives. Changes of presence are always in PostgreSQL (agents.ts): this is only the soft state that every
 * keepalive rewrites, so that it can be moved to a store made for that.
 *
 * An entry lives until its time to live has passed since it was last written. It is found by provider, pool and
 * machine together.
 */
import type { Scope } from '../../domain/access/scope.ts';
import type {
  AgentAddress,
  AgentFacts,
  Keepalive,
  Metrics,
  PresenceTtls,
  Vitals,
} from '../../domain/agent/agent.ts';

export type LiveStatus = 'pending' | 'registered' | 'ready';

/** kept: stored. waiting: the entry is registered and has to become ready first. gone: there is no entry. */
export type KeepaliveOutcome =
  | { readonly outcome: 'kept'; readonly agentVersion: string; readonly at: Date }
  | { readonly outcome: 'waiting' }
  | { readonly outcome: 'gone' };

export interface LiveEntry extends AgentAddress {
  readonly status: LiveStatus;
  readonly facts: AgentFacts | null;
  /** The keepalive that made it ready. */
  readonly keepalive: { readonly agentVersion: string | null; readonly metrics: Metrics | null } | null;
}

/** The store does not answer, and has reported that: what failed because of it need not be reported again. */
export class KeepalivesAway extends Error {
  override readonly name = 'KeepalivesAway';
}

export interface KeepaliveStore {
  /** Called after PostgreSQL has the new status: writes the entry, whose time to live starts again. */
  put(entries: readonly LiveEntry[]): Promise<void>;
  /** Many at once, each machine at most once. Only an entry that is ready is kept alive. */
  keep(keepalives: readonly Keepalive[]): Promise<KeepaliveOutcome[]>;
  /** How much longer each entry lives, in milliseconds; 0 for one that is gone. */
  lifetimes(addresses: readonly AgentAddress[]): Promise<number[]>;
  /** What the last keepalives reported; null where there is no entry. */
  read(addresses: readonly AgentAddress[]): Promise<Array<Vitals | null>>;
  /**
   * Over the entries that are ready and whose machines are schedulable, by pool: sums, and averages of percentages.
   * `offered` names those machines, for a store that does not know machines; they are in the scope.
   */
  poolMetrics(
    pools: readonly string[],
    offered: () => Promise<Pick<ReadonlySet<string>, 'has'>>,
    scope: Scope | null,
  ): Promise<Map<string, Metrics>>;
  /** Removes all data of these entries. */
  remove(addresses: readonly AgentAddress[]): Promise<void>;
  /** Differs when the store may have lost what it had; throws when it does not answer. */
  incarnation(): Promise<string>;
  close(): Promise<void>;
}

export function ttlOf(status: LiveStatus, ttls: PresenceTtls): number {
  return status === 'pending' ? ttls.pendingSeconds : ttls.keepaliveSeconds;
}
