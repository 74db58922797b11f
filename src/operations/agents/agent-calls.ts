/**
 * The two calls of an agent: to register, and to send a keepalive. Many calls become one statement; a call is answered when
 * its data is stored.
 */
import type {
  AgentAddress,
  Keepalive,
  Metrics,
  PresenceTtls,
  Registration,
} from '../../domain/agent/agent.ts';
import { Fault } from '../../domain/error/fault.ts';
import { makeAgentsReady, type RegisteringAgent, registerAgents } from '../../store/agents/agents.ts';
import { removeForgotten } from '../../store/agents/forget-agent.ts';
import type { KeepaliveStore, LiveEntry } from '../../store/agents/keepalive-store.ts';
import { Coalescer } from '../../store/database/coalescer.ts';
import { type Database, isStatementError, untilNotDeadlocked } from '../../store/database/database.ts';
import { KeepaliveLane } from './keepalive-lane.ts';
import { onceEach } from './once-each.ts';

export interface AgentCallDependencies {
  readonly database: Database;
  readonly keepalives: KeepaliveStore;
  readonly ttls: PresenceTtls;
  readonly onReady: (agent: AgentAddress & { readonly hostname: string }) => void;
}

export interface StoredKeepalive {
  readonly agentVersion: string;
  readonly at: Date;
}

/** Exactly one of them is called. Thousands a second come this way, so none of them makes promises. */
export interface KeepaliveDone {
  readonly stored: (kept: StoredKeepalive | null) => void;
  readonly failed: (error: unknown) => void;
}

/** A registration is a transaction of several statements, and other transactions need the lock on events, too. */
const MAX_TRANSITIONS = 200;
/** Further calls are refused and retried later: here they would only wait. */
const MAX_WAITING = 100_000;

type FirstKeepalive = Pick<Keepalive, 'machineId' | 'agentVersion' | 'metrics'>;

export class AgentCalls {
  readonly #dependencies: AgentCallDependencies;
  readonly #registrations: Coalescer<RegisteringAgent & Registration, boolean>;
  readonly #firstKeepalives: Coalescer<Keepalive, StoredKeepalive | null>;
  /** One, so no two batches of this replica write the same row. */
  readonly #keepalives: KeepaliveLane;
  #waiting = 0;

  constructor(dependencies: AgentCallDependencies) {
    this.#dependencies = dependencies;
    this.#registrations = new Coalescer({
      maxBatch: MAX_TRANSITIONS,
      maxUnderWay: 1,
      flush: (agents) => onceEach(agents, (unique) => this.#registerAll(unique)),
      isPoisoned: isStatementError,
    });
    this.#firstKeepalives = new Coalescer({
      maxBatch: MAX_TRANSITIONS,
      maxUnderWay: 1,
      flush: (agents) => onceEach(agents, (unique) => this.#makeReady(unique)),
      isPoisoned: isStatementError,
    });
    this.#keepalives = new KeepaliveLane(dependencies.keepalives);
  }

  /** False: the token is not valid any more. */
  async register(registration: Registration, tokenHash: Buffer): Promise<boolean> {
    this.#enter();
    try {
      return await this.#registrations.submit({ ...registration, tokenHash });
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Stored: null says that there is no live entry, and the agent must register again. */
  keepAlive(keepalive: Keepalive, done: KeepaliveDone): void {
    try {
      this.#enter();
    } catch (error) {
      done.failed(error);
      return;
    }
    this.#keepalives.submit(keepalive, {
      stored: (kept) => {
        if (kept.outcome === 'waiting') this.#firstKeepalive(keepalive, done);
        else {
          this.#waiting -= 1;
          done.stored(kept.outcome === 'kept' ? kept : null);
        }
      },
      failed: (error) => {
        this.#waiting -= 1;
        done.failed(error);
      },
    });
  }

  #firstKeepalive(keepalive: Keepalive, done: KeepaliveDone): void {
    this.#firstKeepalives
      .submit(keepalive)
      .finally(() => {
        this.#waiting -= 1;
      })
      .then(done.stored, done.failed);
  }

  #enter(): void {
    if (this.#waiting >= MAX_WAITING) {
      throw new Fault('TOO_MANY_CALLS', {
        message: 'too many calls; try again later',
      });
    }
    this.#waiting += 1;
  }

  async #registerAll(agents: ReadonlyArray<RegisteringAgent & Registration>): Promise<boolean[]> {
    const { database, ttls } = this.#dependencies;
    const registered = await untilNotDeadlocked(() => registerAgents(database, agents, ttls));
    await this.#put(
      agents
        .filter(({ machineId }) => registered.has(machineId))
        .map((agent) => ({ ...agent, status: 'registered', keepalive: null })),
    );
    return agents.map(({ machineId }) => registered.has(machineId));
  }

  async #makeReady(agents: readonly Keepalive[]): Promise<Array<StoredKeepalive | null>> {
    const { database, ttls, onReady } = this.#dependencies;
    const ready = await untilNotDeadlocked(() => makeAgentsReady(database, agents.map(firstKeepalive), ttls));
    const now = agents.filter(({ machineId }) => ready.has(machineId));
    await this.#put(now.map((agent) => ({ ...agent, status: 'ready', facts: null, keepalive: agent })));
    for (const agent of now) onReady({ ...agent, hostname: ready.get(agent.machineId)?.hostname ?? '' });
    return agents.map(({ machineId }) => ready.get(machineId) ?? null);
  }

  async #put(entries: readonly LiveEntry[]): Promise<void> {
    const { database, keepalives } = this.#dependencies;
    await keepalives.put(entries);
    await removeForgotten(database, keepalives, entries);
  }
}

function firstKeepalive({
  machineId,
  agentVersion,
  metrics,
}: Keepalive): FirstKeepalive & { metrics: Metrics | null } {
  return { machineId, agentVersion, metrics };
}
