/**
 * The device of the next boot, set and read back through a BMC. A boot from the network is made in the strongest way that machine and BMC
 * have: by UEFI HTTP from a one-time URL, which reaches no one but this machine through its BMC; or else by PXE, where the network
 * knows the machine by its MAC address. The log says which, and why.
 */
import type { NetworkInstalls } from '../network-installs.ts';
import { type Netboot, operationOf, type ProviderCall } from '../provider.ts';
import type { ControlOf } from './bmc-control.ts';
import { isRefusedByBmc } from './bmc-refusal.ts';

export interface BmcNetbootOptions {
  readonly controlOf: ControlOf;
  readonly installs: Pick<NetworkInstalls, 'issueBootUrl' | 'isCurrentBootUrl' | 'dropBootUrl'>;
  /** pxe: never by a URL. */
  readonly way: 'auto' | 'pxe';
}

export function createBmcNetboot(options: BmcNetbootOptions): Netboot {
  const { controlOf, installs } = options;
  return {
    async bootDevice(call) {
      const control = controlOf(call.machine);
      const found = await control.bootDevice(call);
      // An HTTP boot is a boot from the network only with the URL that was issued last: another one opens nothing.
      const uri = found === 'http' ? await control.httpBootUri(call) : null;
      const isOurs = uri !== null && (await installs.isCurrentBootUrl(call.machine.machineId, uri));
      // The BMC does not know what the network serves.
      return { device: isOurs ? 'pxe' : found, image: null, pending: false, pollAfterMs: 0 };
    },
    async setBootDevice(call, device) {
      if (device === 'pxe') {
        const why = await setByUrl(options, call);
        if (why === null) return;
        call.log(`Booting by PXE, where the MAC address counts: ${why}`);
      }
      await controlOf(call.machine).setBootDevice(call, device);
    },
  };
}

/** Null: it is set. Otherwise why it is not. */
async function setByUrl(
  { controlOf, installs, way }: BmcNetbootOptions,
  call: ProviderCall,
): Promise<string | null> {
  if (way === 'pxe') return 'bmc.boot.way is pxe';
  const control = controlOf(call.machine);
  const obstacle = await control.httpBootObstacle(call);
  if (obstacle !== null) return obstacle;
  call.checkHeld();
  const issued = await installs.issueBootUrl(call.machine.machineId, operationOf(call));
  if ('obstacle' in issued) return issued.obstacle;
  // Never with the URL itself: who has it boots as the machine.
  call.log(
    'Booting by UEFI HTTP from a one-time URL, set through the BMC: the MAC address opens nothing now',
  );
  const refused = await control.setHttpBoot(call, issued.url).then(
    (set) =>
      set === 'set' ? null : 'the BMC accepted the address of the UEFI HTTP boot and does not show it',
    (error: unknown) => {
      if (!isRefusedByBmc(error)) throw error;
      return 'the BMC refused the address of the UEFI HTTP boot';
    },
  );
  if (refused !== null) await installs.dropBootUrl(call.machine.machineId);
  return refused;
}
