/** What the steps on a machine of a MAAS need of its spec and of the configuration, by capability. */
import type { Machine } from '../../domain/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { Provider, StartCheck } from '../provider.ts';
import type { MaasSite } from './maas-control.ts';
import { checkImageName } from './maas-images.ts';

export function maasStartChecks(site: MaasSite): NonNullable<Provider['startChecks']> {
  return {
    maas: (machine, { config }) => {
      if (config.stage === 'create_or_find_in_maas') checkMacAddresses(machine);
      if (config.stage === 'resolve_power_credentials') site.resolvePower(machine);
    },
    power: (machine) => checkMacAddresses(machine),
    netboot: checkNetboot,
    imaging: (machine, { config }) => {
      checkMacAddresses(machine);
      checkImageName(String(config.image ?? ''));
      site.readUserDataTemplate();
    },
  };
}

/** MAAS boots a machine from the network to deploy it, and for nothing else that we could ask for. */
const checkNetboot: StartCheck = (machine, { config }, _facts, following) => {
  checkMacAddresses(machine);
  if (config.mode !== 'PXE') return;
  const isDeployed = following.some((step) => step.kind === 'repave' && step.config.image === config.image);
  if (isDeployed) return;
  const message =
    'MAAS itself decides what a machine boots from: from the network only what it deploys, so a boot from it needs a repave of the same image after it';
  throw new StepFailure({ class: 'permanent', code: 'CAPABILITY_MISSING', message });
};

function checkMacAddresses({ spec }: Machine): void {
  if (spec.mac_addresses.length > 0) return;
  const message = 'spec.mac_addresses is empty, and MAAS knows machines by nothing else';
  throw new StepFailure({ class: 'needs_human', code: 'NO_MAC_ADDRESS', message });
}
