/** The device of the next boot, set and read back over IPMI. */
import { StepFailure } from '../../engine/step-handler.ts';
import type { Netboot } from '../provider.ts';
import type { BmcConfiguration } from './bmc-configuration.ts';
import { type Bmc, BmcFailure, type Bmcs } from './bmcs.ts';
import { type IpmiBootDevice, parseBootFlags } from './boot-flags.ts';

/**
 * Set System Boot Options, parameter 3: keep the flags although no power command follows within a minute, which is when
 * a BMC drops them otherwise. ipmitool has no command for it.
 */
const KEEP_FLAGS = ['raw', '0x00', '0x08', '0x03', '0x08'] as const;

export function createIpmiNetboot(bmcs: Bmcs, configuration: BmcConfiguration): Netboot {
  const { persistent, efi } = configuration.boot;
  const options = [...(persistent ? ['persistent'] : []), ...(efi ? ['efiboot'] : [])];
  return {
    async bootDevice(call) {
      const device = await bmcs.use(call, (bmc) => readBootDevice(bmc, configuration));
      // The BMC does not know what the network serves.
      return { device, image: null, pending: false, pollAfterMs: 0 };
    },
    async setBootDevice(call, device) {
      await bmcs.use(call, async (bmc) => {
        call.log(`Setting the boot device to ${device} over IPMI`);
        await unlessRefused(bmc.send(...KEEP_FLAGS));
        const option = options.length === 0 ? [] : [`options=${options.join(',')}`];
        await bmc.send('chassis', 'bootdev', device, ...option);
        const set = await readBootDevice(bmc, configuration);
        if (set !== device) throw notSet(bmc, device, set);
        call.log(`The BMC says: next boot from ${set}`);
      });
    },
  };
}

/** A BMC that does not have the parameter works without it. */
async function unlessRefused(sent: Promise<string>): Promise<void> {
  try {
    await sent;
  } catch (error) {
    if (!(error instanceof BmcFailure) || error.reason !== 'CommandRefused') throw error;
  }
}

export async function readBootDevice(bmc: Bmc, configuration: BmcConfiguration): Promise<IpmiBootDevice> {
  const device = parseBootFlags(await bmc.ask('chassis', 'bootparam', 'get', '5'), configuration);
  if (device !== null) return device;
  const message = `the BMC ${bmc.where} does not say what the machine boots from`;
  throw new BmcFailure('CommandRefused', { class: 'retryable', code: 'BMC_REFUSED', message });
}

function notSet({ where }: Bmc, wanted: string, set: IpmiBootDevice): StepFailure {
  const hint = set === 'none' ? ' (or never shows valid boot flags: see bmc.boot.ignore_valid_bit)' : '';
  const message = `the BMC ${where} was set to boot from ${wanted} and says ${set}${hint}`;
  return new StepFailure({ class: 'retryable', code: 'BOOT_DEVICE_NOT_SET', message });
}
