/** A provider for machines that a MAAS manages: it adds, commissions, deploys and releases them for us. */
import type { Provider } from '../provider.ts';
import { MaasApi } from './maas-api.ts';
import type { MaasConfiguration } from './maas-configuration.ts';
import { MaasMachines } from './maas-machines.ts';
import { createMaasInspect, createMaasPower } from './maas-power.ts';
import { createMaasSite } from './maas-site.ts';

export interface MaasProviderOptions {
  readonly name: string;
  readonly configuration: MaasConfiguration;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly random: () => number;
}

export function createMaasProvider(options: MaasProviderOptions): Provider {
  const { name, configuration, now } = options;
  const api = new MaasApi(options);
  const maas = new MaasMachines({ name, api, site: createMaasSite(name, configuration), now });
  return {
    name,
    defaultImage: '',
    capabilities: { maas, power: createMaasPower(maas), inspect: createMaasInspect(maas) },
  };
}
