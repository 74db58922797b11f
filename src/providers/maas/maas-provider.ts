/** A provider for machines that a MAAS manages: it adds, commissions, deploys and releases them for us. */
import type { Provider } from '../provider.ts';
import { MaasApi } from './maas-api.ts';
import type { MaasConfiguration } from './maas-configuration.ts';
import { createMaasImages, imageText } from './maas-images.ts';
import { MaasMachines } from './maas-machines.ts';
import { createMaasNetboot } from './maas-netboot.ts';
import { checkMaasLabels, isMaasLabel } from './maas-options.ts';
import { createMaasPower, MAAS_INSPECT } from './maas-power.ts';
import { createMaasSite } from './maas-site.ts';
import { maasStartChecks } from './start-checks.ts';

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
  const site = createMaasSite(name, configuration);
  const maas = new MaasMachines({ name, api, site, now });
  const images = createMaasImages(name, maas);
  return {
    name,
    defaultImage: imageText(site.deploy),
    checkLabels: checkMaasLabels,
    readsLabel: isMaasLabel,
    startChecks: maasStartChecks(site),
    capabilities: {
      maas,
      power: createMaasPower(maas),
      netboot: createMaasNetboot(maas, images),
      imaging: images,
      inspect: MAAS_INSPECT,
    },
  };
}
