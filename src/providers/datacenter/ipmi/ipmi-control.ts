/** Power and boot device over IPMI. */
import type { Machine } from '../../../domain/machine/machine.ts';
import { StepFailure } from '../../../engine/step-handler.ts';
import type { BmcConfiguration } from '../bmc/bmc-configuration.ts';
import type { BmcControl } from '../bmc/bmc-control.ts';
import { bootDeviceNotSet, isRefusedByBmc } from '../bmc/bmc-refusal.ts';
import { openIpmiConsole } from '../serial-console/ipmi-console.ts';
import { type Bmc, BmcFailure, type Bmcs, powerOf } from './bmcs.ts';
import { type IpmiBootDevice, parseBootFlags } from './boot-flags.ts';
import { readIpmiSensors } from './ipmi-sensors.ts';

/**
 * Set System Boot Options, parameter 3: keep the flags although no power command follows within a minute, which is when
 * a BMC drops them otherwise. ipmitool has no command for it.
 */
export const KEEP_FLAGS = ['raw', '0x00', '0x08', '0x03', '0x08'] as const;

export function createIpmiControl(bmcs: Bmcs, configuration: BmcConfiguration): BmcControl {
  const { persistent, efi } = configuration.boot;
  const options = [...(persistent ? ['persistent'] : []), ...(efi ? ['efiboot'] : [])];
  return {
    power: (call) => bmcs.use(call, powerOf),
    async switchPower(call, to) {
      await bmcs.use(call, async (bmc) => {
        call.log(`Switching power ${to} over IPMI`);
        await bmc.send('chassis', 'power', to);
      });
    },
    async shutDown(call) {
      await bmcs.use(call, async (bmc) => {
        call.log('Asking the operating system to shut down over IPMI');
        await bmc.send('chassis', 'power', 'soft');
      });
    },
    bootDevice: async (call) => {
      const device = await bmcs.use(call, (bmc) => readBootDevice(bmc, configuration));
      return device === 'cdrom' ? 'cd' : device;
    },
    async setBootDevice(call, wanted) {
      const device = wanted === 'cd' ? 'cdrom' : wanted;
      await bmcs.use(call, async (bmc) => {
        call.log(`Setting the boot device to ${device} over IPMI`);
        await unlessRefused(bmc.send(...KEEP_FLAGS));
        const option = options.length === 0 ? [] : [`options=${options.join(',')}`];
        await bmc.send('chassis', 'bootdev', device, ...option);
        const set = await readBootDevice(bmc, configuration);
        const hint =
          set === 'none' ? ' (or never shows valid boot flags: see bmc.boot.ignore_valid_bit)' : '';
        if (set !== device) throw bootDeviceNotSet(bmc.where, device, set, hint);
        call.log(`The BMC says: next boot from ${set}`);
      });
    },
    httpBootObstacle: async () => 'IPMI has no address for a UEFI HTTP boot',
    httpBootUri: async () => null,
    setHttpBoot: async () => 'not set',
    readHardware: async ({ machine }) => {
      throw needsRedfish(machine);
    },
    readSensors: (machine, known, signal) =>
      bmcs.readUnlessWanted(machine, signal, (bmc) => readIpmiSensors(bmc, known)),
    insertedMedia: async ({ machine }) => {
      throw needsRedfish(machine);
    },
    insertMedia: async ({ machine }) => {
      throw needsRedfish(machine);
    },
    ejectMedia: async ({ machine }) => {
      throw needsRedfish(machine);
    },
    mediaObstacle: async () => 'IPMI has no virtual drive',
    insertOwnMedia: async ({ machine }) => {
      throw needsRedfish(machine);
    },
    bootFromMedia: async ({ machine }) => {
      throw needsRedfish(machine);
    },
    checkRedfish: (machine) => {
      throw needsRedfish(machine);
    },
    openConsole: (machine, options) =>
      openIpmiConsole({ bmcs, checkMs: configuration.console.check_seconds * 1000 }, machine, options),
    probe: (machine, signal) => bmcs.probe(machine, signal),
    checkStart: (machine) => bmcs.checkStart(machine),
  };
}

function needsRedfish({ machineId }: Machine): StepFailure {
  return new StepFailure({
    class: 'permanent',
    code: 'REDFISH_NOT_OFFERED',
    message: `the BMC of ${machineId} is reached over IPMI, which has no inventory, no virtual media and no settings; set spec.bmc_endpoint to the URL of its Redfish service`,
  });
}

/** A BMC that does not have the parameter works without it. */
async function unlessRefused(sent: Promise<string>): Promise<void> {
  try {
    await sent;
  } catch (error) {
    if (!isRefusedByBmc(error)) throw error;
  }
}

async function readBootDevice(bmc: Bmc, configuration: BmcConfiguration): Promise<IpmiBootDevice> {
  const device = parseBootFlags(await bmc.ask('chassis', 'bootparam', 'get', '5'), configuration);
  if (device !== null) return device;
  const message = `the BMC ${bmc.where} does not say what the machine boots from`;
  throw new BmcFailure('CommandRefused', { class: 'retryable', code: 'BMC_REFUSED', message });
}
