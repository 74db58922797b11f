/**
 * What a machine of a MAAS boots from is MAAS' own doing: it boots from the network what it commissions, deploys or
 * erases, and has a Deployed machine boot from its disk. Its API sets nothing else, so all that can be done here is to say
 * whether it will be so; best before a reimage has released anything.
 */
import { StepFailure } from '../../engine/step-handler.ts';
import type { DeployedImages, ProviderCall, UpstreamNetboot } from '../provider.ts';
import type { MaasControl } from './maas-control.ts';
import { imageText } from './maas-images.ts';
import { machineByMac } from './machine-by-mac.ts';

export function createMaasNetboot(maas: MaasControl, images: DeployedImages): UpstreamNetboot {
  return {
    async confirm(call, device, image) {
      const seen = await machineByMac(maas, call, call.machine);
      if (device === 'pxe') {
        const found = await images.find(call, seen, image);
        return `MAAS boots it from the network by itself when it deploys ${imageText(found)}`;
      }
      if (seen.status === 'Deployed') return 'MAAS has a Deployed machine boot from its disk';
      throw notFromDisk(call, seen.status);
    },
  };
}

function notFromDisk({ machine }: ProviderCall, status: string): StepFailure {
  const message = `${machine.machineId} is ${status} in MAAS; only a Deployed machine boots from its disk`;
  return new StepFailure({ class: 'permanent', code: 'MAAS_NOT_DEPLOYED', message });
}
