import { sortableId } from '../../domain/id.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Dispatcher } from '../../engine/dispatcher.ts';
import { packageVersion } from '../../package-root.ts';
import type { Provider } from '../../providers/provider.ts';
import { BudgetBook } from '../../store/budgets/budget-book.ts';
import { MachineRegistrar } from '../../store/machines/register-machines.ts';
import { StalledOperations } from '../../store/operations/stalled-operations.ts';
import { OperationStarter } from '../../store/operations/writer/operation-starter.ts';
import type { ProviderOrigin } from '../../surfaces/rpc/fleet/list-providers.ts';
import { OperationChanges } from '../../surfaces/rpc/operation-changes.ts';
import type { ServerDependencies } from '../../surfaces/rpc/server-dependencies.ts';
import type { Audit } from '../audit/start-audit.ts';
import { approvalRules } from '../settings/approval-configuration.ts';
import { configuredBudgets } from '../settings/budget-configuration.ts';
import { BUILT_IN_PROVIDERS, type Configuration } from '../settings/configuration.ts';
import type { Store } from './open-store.ts';
import { randomBytes } from './random-bytes.ts';
import type { ReplicaOptions } from './replica-options.ts';

export interface ServiceParts {
  /** Known when the port is open. */
  readonly httpPort: () => number;
  readonly store: Store;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly dispatcher: Dispatcher<MachineChange>;
  readonly tokensChanged: () => void;
  readonly audit: Audit;
}

/** What the gRPC services use. */
export function createServiceDependencies(
  { configuration, settings, tls }: ReplicaOptions,
  { store, providers, dispatcher, tokensChanged, audit, httpPort }: ServiceParts,
): ServerDependencies {
  const { database } = store;
  const budgets = new BudgetBook(configuredBudgets(configuration.budgets));
  const changes = new OperationChanges(store.watching);
  return {
    ...store,
    providers,
    changes,
    registrar: new MachineRegistrar(database),
    starter: new OperationStarter(database, budgets, {
      claims: dispatcher.claimsAtStart,
      clock: store.clock,
    }),
    budgets,
    stalls: new StalledOperations(database, () => new Date()),
    stepDefaults: {
      timeoutSeconds: configuration.step_defaults.timeout_seconds,
      maxRetries: configuration.step_defaults.max_retries,
    },
    approvalRules: approvalRules(configuration.approvals),
    defaultProvider: configuration.default_provider,
    providerOrigins: providerOrigins(configuration.providers),
    newOperationId: () => sortableId('op', Date.now(), randomBytes(10)),
    newMachineId: () => sortableId('m', Date.now(), randomBytes(10)),
    newConsoleSessionId: () => sortableId('console', Date.now(), randomBytes(10)),
    newRolloutId: () => sortableId('ro', Date.now(), randomBytes(10)),
    wake: () => dispatcher.wake(),
    onStarted: (operation) => changes.started(operation),
    notifyCancel: (operationId) => dispatcher.cancelRequested(operationId),
    tokensChanged,
    audit: { key: audit.key, rotateKey: audit.rotateKey, heads: audit.heads },
    tokenLifetimeMs: configuration.tokens.default_lifetime_seconds * 1000,
    now: () => new Date(),
    roles: configuration.roles,
    insecurePlaintext: tls === null && settings.insecurePlaintext,
    httpPort,
    version: packageVersion(),
  };
}

/** The configuration may give a built-in name another kind. */
function providerOrigins(configured: Configuration['providers']): ReadonlyMap<string, ProviderOrigin> {
  return new Map<string, ProviderOrigin>([
    ...BUILT_IN_PROVIDERS.map((name) => [name, { kind: name, source: 'built-in' }] as const),
    ...Object.entries(configured).map(
      ([name, { kind }]) => [name, { kind, source: 'configuration' }] as const,
    ),
  ]);
}
