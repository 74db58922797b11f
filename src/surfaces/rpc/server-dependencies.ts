import type { AuditKey } from '../../audit/audit-key.ts';
import type { Checkpoint } from '../../audit/chain.ts';
import type { RoleTable } from '../../domain/access/caller.ts';
import type { Actor } from '../../domain/actor.ts';
import type { PresenceTtls } from '../../domain/agent/agent.ts';
import type { StartRunDependencies } from '../../operations/start/start-run.ts';
import type { KeepaliveStore } from '../../store/agents/keepalive-store.ts';
import type { PoolReader } from '../../store/agents/pool-reader.ts';
import type { BudgetBook } from '../../store/budgets/budget-book.ts';
import type { ConsoleSignals } from '../../store/consoles/console-signals.ts';
import type { Database } from '../../store/database/database.ts';
import type { EventFeed } from '../../store/events/event-feed.ts';
import type { MachineReader } from '../../store/machines/machines.ts';
import type { MachineRegistrar } from '../../store/machines/register-machines.ts';
import type { LogFollower } from '../../store/operations/log/log-follower.ts';
import type { StalledOperations } from '../../store/operations/stalled-operations.ts';
import type { ProviderOrigin } from './fleet/list-providers.ts';
import type { OperationChanges } from './operation-changes.ts';

/** What the services are built from. */
export interface ServerDependencies extends StartRunDependencies {
  readonly database: Database;
  readonly machines: MachineReader;
  readonly registrar: MachineRegistrar;
  readonly budgets: BudgetBook;
  /** Operations that are slower than their history. */
  readonly stalls: StalledOperations;
  readonly feed: EventFeed;
  /** For watchers, who must not wait behind operations. */
  readonly watching: Database;
  readonly changes: OperationChanges;
  readonly logs: LogFollower;
  readonly defaultProvider: string;
  /** The kind of each provider, and where it comes from, by its name. */
  readonly providerOrigins: ReadonlyMap<string, ProviderOrigin>;
  readonly newMachineId: () => string;
  readonly newRolloutId: () => string;
  readonly newConsoleSessionId: () => string;
  /** Something is new on a machine's serial console. */
  readonly consoleSignals: ConsoleSignals;
  readonly notifyCancel: (operationId: string) => void;
  /** Tokens changed: empty the caches of tokens. */
  readonly tokensChanged: () => void;
  /** Of a token whose creator names no end. */
  readonly tokenLifetimeMs: number;
  readonly now: () => Date;
  readonly keepalives: KeepaliveStore;
  readonly pools: PoolReader;
  readonly ttls: PresenceTtls;
  /** The roles of the configuration. */
  readonly roles: RoleTable;
  /** The key that signs the audit chain, and the checkpoints that are kept outside of the database. */
  readonly audit: {
    readonly key: (lastKeyId: string | null) => AuditKey;
    readonly rotateKey: (rotation: { readonly replaces: string; readonly actor: Actor }) => Promise<AuditKey>;
    readonly heads: () => readonly Checkpoint[];
  };
  /** Whether both ports are plaintext on addresses other than loopback. */
  readonly insecurePlaintext: boolean;
  /** Where the REST API and the console are. */
  readonly httpPort: () => number;
  /** The version of this program. */
  readonly version: string;
}
