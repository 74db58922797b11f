/** A provider for machines that a MAAS manages: it adds, commissions, deploys and releases them for us. */
import type { Machine } from '../../domain/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { Provider, StartCheck } from '../provider.ts';
import { MaasApi } from './maas-api.ts';
import type { MaasConfiguration } from './maas-configuration.ts';
import type { MaasSite } from './maas-control.ts';
import { MaasMachines } from './maas-machines.ts';
import { createMaasPower, MAAS_INSPECT } from './maas-power.ts';
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
  const site = createMaasSite(name, configuration);
  const maas = new MaasMachines({ name, api, site, now });
  return {
    name,
    defaultImage: '',
    startChecks: { maas: stageCheck(site), power: checkPower },
    capabilities: { maas, power: createMaasPower(maas), inspect: MAAS_INSPECT },
  };
}

/** What a stage would find missing in the spec or in the configuration. */
function stageCheck(site: MaasSite): StartCheck {
  return (machine, { config }) => {
    if (config.stage === 'create_or_find_in_maas') checkMacAddresses(machine);
    if (config.stage === 'resolve_power_credentials') site.resolvePower(machine);
  };
}

const checkPower: StartCheck = (machine, { config }) => {
  checkMacAddresses(machine);
  // MAAS knows no boots, and without them nobody could tell that the host was rebooted.
  if (config.mode === 'ssh') {
    const message = 'a machine of a MAAS is rebooted by switching its power: mode "bmc", not "ssh"';
    throw new StepFailure({ class: 'permanent', code: 'HOST_UNREACHABLE', message });
  }
};

function checkMacAddresses({ spec }: Machine): void {
  if (spec.mac_addresses.length > 0) return;
  const message = 'spec.mac_addresses is empty, and MAAS knows machines by nothing else';
  throw new StepFailure({ class: 'needs_human', code: 'NO_MAC_ADDRESS', message });
}
