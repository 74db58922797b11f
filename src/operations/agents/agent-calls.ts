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
import type { KeepaliveOutcome, KeepaliveStore, LiveEntry } from '../../store/agents/keepalive-store.ts';
import { Coalescer } from '../../store/database/coalescer.ts';
import { type Database, isStatementError, untilNotDeadlocked } from '../../store/database/database.ts';

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

const MAX_BATCH = 500;
/** A registration is a transaction of several statements, and other transactions need the lock on events, too. */
const MAX_TRANSITIONS = 200;
/** A machine's keepalives always go through the same coalescer, so no two batches of this replica write the same row. */
const COALESCERS = 2;
/**
 * In a large fleet a keepalive comes every millisecond, and a statement for each would cost several times as much as a few
 * more rows in one. Agents do not notice the wait.
 */
const REST_MS = 10;
/** Further calls are refused and retried later: here they would only wait. */
const MAX_WAITING = 100_000;

type FirstKeepalive = Pick<Keepalive, 'machineId' | 'agentVersion' | 'metrics'>;

export class AgentCalls {
  readonly #dependencies: AgentCallDependencies;
  readonly #registrations: Coalescer<RegisteringAgent & Registration, boolean>;
  readonly #firstKeepalives: Coalescer<Keepalive, StoredKeepalive | null>;
  readonly #keepalives: ReadonlyArray<Coalescer<Keepalive, KeepaliveOutcome>>;
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
    this.#keepalives = Array.from(
      { length: COALESCERS },
      () =>
        new Coalescer<Keepalive, KeepaliveOutcome>({
          maxBatch: MAX_BATCH,
          maxUnderWay: 1,
          restMs: REST_MS,
          flush: (keepalives) =>
            onceEach(keepalives, (unique) => untilNotDeadlocked(() => dependencies.keepalives.keep(unique))),
          isPoisoned: isStatementError,
        }),
    );
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

  /** Null: there is no live entry; the agent must register again. */
  async keepAlive(keepalive: Keepalive): Promise<StoredKeepalive | null> {
    this.#enter();
    try {
      const kept = await this.#coalescerOf(keepalive.machineId).submit(keepalive);
      if (kept.outcome === 'gone') return null;
      return kept.outcome === 'kept' ? kept : await this.#firstKeepalives.submit(keepalive);
    } finally {
      this.#waiting -= 1;
    }
  }

  #coalescerOf(machineId: string): Coalescer<Keepalive, KeepaliveOutcome> {
    const coalescer = this.#keepalives[machineId.charCodeAt(machineId.length - 1) % COALESCERS];
    if (!coalescer) throw new Error('there is no such coalescer');
    return coalescer;
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

/** Of several calls of one machine in a batch the last one counts, and all get the same answer. */
async function onceEach<Item extends { readonly machineId: string }, Result>(
  items: readonly Item[],
  flush: (unique: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const last = new Map<string, Item>();
  for (const item of items) last.set(item.machineId, item);
  if (last.size === items.length) return flush(items);
  const ids = [...last.keys()];
  const results = await flush([...last.values()]);
  const byId = new Map(ids.map((id, index) => [id, results[index] as Result]));
  return items.map(({ machineId }) => byId.get(machineId) as Result);
}
