/**
 * MAAS itself decides what a machine boots from: it boots from the network what it commissions, deploys or erases, and has
 * a Deployed machine boot from its disk. Its API can't set it, so all that this does is to confirm what will happen, before
 * a reimage has released anything.
 */
import type { UpstreamNetboot } from '../provider.ts';
import type { MaasControl } from './client/maas-control.ts';
import { imageText, type MaasImages } from './maas-images.ts';
import { machineByMac, notDeployed } from './machine-by-mac.ts';

export function createMaasNetboot(maas: MaasControl, images: MaasImages): UpstreamNetboot {
  return {
    async confirm(call, device, image) {
      const seen = await machineByMac(maas, call, call.machine);
      if (device === 'pxe') {
        await maas.checkOurs(call, seen);
        const found = await images.find(call, seen, image);
        return `MAAS boots it from the network by itself when it deploys ${imageText(found)}`;
      }
      if (seen.status === 'Deployed') return 'MAAS has a Deployed machine boot from its disk';
      throw notDeployed(call.machine, seen.status, 'boots from its disk');
    },
  };
}
