/** The providers that the configuration names, beside those that are built in. */

import { createClusters } from '../../clusters/clusters.ts';
import type { AddressRules } from '../../connections/address-rules.ts';
import { createCredentialSources } from '../../connections/credential-source.ts';
import { createDatacenterProvider } from '../../providers/datacenter/datacenter-provider.ts';
import { createFakeProvider } from '../../providers/fake/fake-provider.ts';
import { createGenericProvider } from '../../providers/generic/generic-provider.ts';
import { createMaasProvider } from '../../providers/maas/maas-provider.ts';
import type { NetworkInstalls } from '../../providers/network-installs.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Database } from '../../store/database/database.ts';
import { createFakeWorld } from '../../store/fake-world.ts';
import { readHostKey } from '../../store/nodes/host-keys.ts';
import { BUILT_IN_PROVIDERS, type Configuration } from '../settings/configuration.ts';

export function createProviders(
  configuration: Configuration,
  database: Database,
  installs: NetworkInstalls,
  addresses: AddressRules,
): Provider[] {
  const world = createFakeWorld(database);
  const monotonicNow = () => performance.now();
  const clusters = createClusters(configuration.clusters, monotonicNow, addresses.servers);
  const credentials = createCredentialSources(configuration.credentials, {
    rule: addresses.servers,
    monotonicNow,
  });
  const builtIn = Object.fromEntries(BUILT_IN_PROVIDERS.map((name) => [name, { kind: name }] as const));
  const configured: Configuration['providers'] = { ...builtIn, ...configuration.providers };
  const make = (name: string, provider: Configuration['providers'][string]): Provider => {
    switch (provider.kind) {
      case 'fake':
        return createFakeProvider({ name, world, now: Date.now });
      case 'generic':
        return createGenericProvider(name);
      case 'datacenter':
        return createDatacenterProvider({
          name,
          configuration: provider,
          clusters,
          addresses,
          credentials,
          installs,
          now: Date.now,
          monotonicNow,
        });
      case 'maas':
        return createMaasProvider({
          name,
          configuration: provider,
          now: Date.now,
          monotonicNow,
          random: Math.random,
          clusters,
          addresses,
          credentials,
          hostKeys: { read: (machineId) => readHostKey(database, machineId) },
        });
    }
  };
  return Object.entries(configured).map(([name, provider]) => make(name, provider));
}
