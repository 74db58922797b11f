import { join } from 'node:path';
import { AddressNetworks } from '../../connections/address-networks.ts';
import { addressProblem } from '../../connections/address-rules.ts';
import { DEFAULT_AGENT_PROVIDER } from '../../domain/agent/agent.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import { MACHINE_FILTER } from '../../domain/filter/machine-filter.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { filterPredicate } from '../../domain/filter/predicate.ts';
import { KeyedRate } from '../../domain/limit/keyed-rate.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { BootDependencies } from '../../operations/nodes/boot/node-boot.ts';
import { FileDigests } from '../../store/nodes/file-digests.ts';
import { perMinute } from '../../surfaces/limits/limits-configuration.ts';
import type { ServerDependencies } from '../../surfaces/rpc/server-dependencies.ts';
import type { Configuration } from '../settings/configuration.ts';
import { addressRules } from './address-rules.ts';
import type { ReplicaOptions } from './replica-options.ts';

type Netboot = Configuration['netboot'];

/** What nodes, their boots and their installations use. */
export function createNodeDependencies(
  { configuration, settings, log }: ReplicaOptions,
  { database, providers, newMachineId, now }: ServerDependencies,
): BootDependencies {
  const { netboot, limits } = configuration;
  const { hooks } = addressRules({ configuration, settings });
  const promoted = netboot.auto_promote.map(machinePredicate);
  return {
    database,
    providers,
    // Until the configuration names a provider, only the node's own agent reports about it.
    nodeProvider: netboot.provider ?? DEFAULT_AGENT_PROVIDER,
    newMachineId,
    scope: null,
    now,
    logTransition: (entry) => log.info(entry, 'node state changed'),
    logRefused: (entry, message) => log.warn(entry, message),
    promotesItself: (machine) => promoted.some((matches) => matches(machine)),
    approvalRules: netboot.approve,
    maxDiscovered: netboot.max_discovered,
    discoveryRate: new KeyedRate(perMinute(limits.new_machines_per_minute), () => performance.now()),
    discovers: discoversAt(netboot.discovery),
    bootTokenSeconds: netboot.boot_token_seconds,
    bootWindowSeconds: netboot.boot_window_seconds,
    liveSeconds: netboot.stalled_after_seconds,
    verify: netboot.verify_boot_files,
    digests: new FileDigests(),
    isInNetwork: networkRule(netboot.boot_networks),
    acceptsTokenless: netboot.tokenless_reports === 'accept',
    imageHostProblem: (host) => addressProblem(hooks, host),
    bootDir: join(settings.dataDir, 'boot'),
    profiles: new Map(netboot.workflows.map((profile) => [profile.name, profile])),
  };
}

function machinePredicate(text: string): (machine: Machine) => boolean {
  return filterPredicate(checkFilter(parseFilter(text), MACHINE_FILTER));
}

function discoversAt({ isOn, networks }: Netboot['discovery']): BootDependencies['discovers'] {
  const allowed = networks && new AddressNetworks(networks);
  return (address) => isOn && (allowed === null || allowed.has(address));
}

/** A machine that no rule is for boots from anywhere. */
function networkRule(given: Netboot['boot_networks']): BootDependencies['isInNetwork'] {
  const rules = given.map(({ machines, networks }) => ({
    isFor: machines === undefined ? () => true : machinePredicate(machines),
    allowed: new AddressNetworks(networks),
  }));
  return (machine, address) => {
    const own = rules.filter(({ isFor }) => isFor(machine));
    return own.length === 0 || own.some(({ allowed }) => allowed.has(address));
  };
}
