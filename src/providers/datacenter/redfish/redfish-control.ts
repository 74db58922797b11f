/** Power and boot device over Redfish. */
import { StepFailure } from '../../../engine/step-handler.ts';
import {
  bootObstacle,
  httpBootObstacle,
  readBootSource,
  readHttpBootUri,
  setBootSource,
  setHttpBoot,
} from '../../../redfish/boot/boot-override.ts';
import { RedfishFailure } from '../../../redfish/connection/redfish-failure.ts';
import { readHardware } from '../../../redfish/hardware/read-hardware.ts';
import {
  ejectMedia,
  insertedMedia,
  insertMedia,
  mediaObstacle,
} from '../../../redfish/manager/virtual-media.ts';
import { readLog } from '../../../redfish/sensors/read-log.ts';
import { readSensors } from '../../../redfish/sensors/read-sensors.ts';
import type { RedfishServices } from '../../../redfish/service/redfish-services.ts';
import { powerOf, reset } from '../../../redfish/system/system-power.ts';
import type { BmcConfiguration } from '../bmc/bmc-configuration.ts';
import type { BmcControl } from '../bmc/bmc-control.ts';
import { isAddressRefused } from '../bmc/bmc-networks.ts';
import { bootDeviceNotSet } from '../bmc/bmc-refusal.ts';
import { openRedfishConsole, type RedfishConsoleDependencies } from '../serial-console/redfish-console.ts';

/** The devices that steps name. */
const BOOT_FROM_DISC = { source: 'cd', lasts: 'once', mode: 'UEFI', path: '' } as const;
const SOURCES = { pxe: 'pxe', disk: 'disk', cd: 'cd', bios: 'setup', none: 'none' } as const;

export function createRedfishControl(
  services: RedfishServices,
  { boot }: Pick<BmcConfiguration, 'boot'>,
  consoles: Omit<RedfishConsoleDependencies, 'services'>,
): BmcControl {
  return {
    power: (call) => services.use(call, async (service) => powerOf(await service.system(), service.where)),
    switchPower: (call, to) => services.use(call, (service) => reset(service, to, call.log)),
    shutDown: (call) => services.use(call, (service) => reset(service, 'shutdown', call.log)),
    bootDevice: async (call) => {
      const source = await services.use(call, readBootSource);
      return source === 'setup' ? 'bios' : source;
    },
    setBootDevice: (call, device) =>
      services.use(call, async (service) => {
        const source = SOURCES[device as keyof typeof SOURCES];
        if (source === undefined) throw new TypeError(`${device} is no boot device`);
        const request = {
          source,
          lasts: boot.persistent ? 'always' : 'once',
          mode: boot.efi ? 'UEFI' : null,
          path: '',
        } as const;
        const { source: set } = await setBootSource(service, request, call.signal, call.log);
        if (set !== source) throw bootDeviceNotSet(service.where, device, set);
        call.log(`The BMC says: next boot from ${set}`);
      }),
    httpBootObstacle: (call) => services.use(call, httpBootObstacle),
    httpBootUri: (call) => services.use(call, readHttpBootUri),
    setHttpBoot: (call, uri) =>
      services.use(call, async (service) => {
        const read = await setHttpBoot(service, uri, call.signal);
        return read.source === 'http' && read.uri === uri ? 'set' : 'not set';
      }),
    insertedMedia: (call) => services.use(call, insertedMedia),
    insertMedia: (call, url) => services.use(call, (service) => insertMedia(service, url, call)),
    ejectMedia: (call) => services.use(call, (service) => ejectMedia(service, call)),
    mediaObstacle: (call) =>
      services.use(
        call,
        async (service) => (await mediaObstacle(service)) ?? (await bootObstacle(service, BOOT_FROM_DISC)),
      ),
    insertOwnMedia: (call, url) =>
      services.use(call, (service) =>
        insertMedia(service, url, { ...call, shownAs: 'a disc of the installer' }),
      ),
    bootFromMedia: (call) =>
      services.use(call, async (service) => {
        const { source: set } = await setBootSource(service, BOOT_FROM_DISC, call.signal, call.log);
        if (set !== 'cd') throw bootDeviceNotSet(service.where, 'cd', set);
        call.log('The BMC says: next boot from its virtual drive');
      }),
    readHardware: (call) => services.use(call, (service) => readHardware(service, call.log)),
    readSensors: (machine, known, signal) =>
      services.readUnlessWanted(machine, signal, async (service, system) => ({
        ...(await readSensors(service, system)),
        log: await readLog(service, system, known),
      })),
    openConsole: (machine, options) => openRedfishConsole({ services, ...consoles }, machine, options),
    checkRedfish: () => {},
    async probe(machine, signal) {
      try {
        return await services.tryUse(machine, signal, async (service) => {
          const power = powerOf(await service.system(), service.where);
          return {
            ok: true,
            reason: 'BmcOK',
            message: `the BMC ${service.where} answers; power is ${power}`,
          };
        });
      } catch (error) {
        const reason = probeReason(error);
        if (reason === null) throw error;
        return { ok: false, reason, message: (error as StepFailure).failure.message };
      }
    },
    checkStart: (machine) => services.checkStart(machine),
  };
}

/** Null: it says something about us, and nothing about the BMC. */
function probeReason(error: unknown): string | null {
  if (error instanceof RedfishFailure) return error.reason;
  if (isAddressRefused(error)) return 'AddressNotAllowed';
  if (!(error instanceof StepFailure)) return null;
  return error.failure.code === 'AUTHENTICATION_FAILED' ? 'AuthenticationFailed' : null;
}
