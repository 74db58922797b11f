import { join } from 'node:path';
import { DEFAULT_AGENT_PROVIDER } from '../../domain/agent/agent.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import { MACHINE_FILTER } from '../../domain/filter/machine-filter.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { filterPredicate } from '../../domain/filter/predicate.ts';
import { KeyedRate } from '../../domain/limit/keyed-rate.ts';
import type { BootDependencies } from '../../operations/nodes/node-boot.ts';
import { perMinute } from '../../surfaces/limits/limits-configuration.ts';
import type { ServerDependencies } from '../../surfaces/rpc/server-dependencies.ts';
import type { ReplicaOptions } from './replica-options.ts';

/** What nodes, their boots and their installations use. */
export function createNodeDependencies(
  { configuration, settings, log }: ReplicaOptions,
  { database, providers, newMachineId, now }: ServerDependencies,
): BootDependencies {
  const { netboot, limits } = configuration;
  const promoted = netboot.auto_promote.map((text) =>
    filterPredicate(checkFilter(parseFilter(text), MACHINE_FILTER)),
  );
  return {
    database,
    providers,
    // Until the configuration names a provider, only the node's own agent reports about it.
    nodeProvider: netboot.provider ?? DEFAULT_AGENT_PROVIDER,
    newMachineId,
    now,
    logTransition: (entry) => log.info(entry, 'node state changed'),
    logRefused: (entry, message) => log.warn(entry, message),
    promotesItself: (machine) => promoted.some((matches) => matches(machine)),
    approvalRules: netboot.approve,
    maxDiscovered: netboot.max_discovered,
    discoveryRate: new KeyedRate(perMinute(limits.new_machines_per_minute), () => performance.now()),
    bootTokenSeconds: netboot.boot_token_seconds,
    bootDir: join(settings.dataDir, 'boot'),
    profiles: new Map(netboot.workflows.map((profile) => [profile.name, profile])),
  };
}
