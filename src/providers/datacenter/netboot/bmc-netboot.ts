/**
 * The device of the next boot, set and read back through a BMC. A boot of the installer is made in the strongest way that machine and BMC
 * have: by UEFI HTTP from a one-time URL, which reaches no one but this machine through its BMC; from a disc in the BMC's virtual drive,
 * by such a URL too; or else by PXE, where the network knows the machine by its MAC address. The log says which, and why.
 */
import { StepFailure } from '../../../engine/step-handler.ts';
import type { NetworkInstalls } from '../../network-installs.ts';
import { type Netboot, operationOf, type ProviderCall } from '../../provider.ts';
import type { BmcConfiguration } from '../bmc/bmc-configuration.ts';
import { isRefusedByBmc } from '../bmc/bmc-refusal.ts';
import { bootsFromOwnDisc, ejectOwnDisc, type OwnDiscOptions, setByDisc } from './own-disc.ts';

export interface BmcNetbootOptions extends OwnDiscOptions {
  /** auto: the strongest that there is. Any other: that one alone. */
  readonly way: BootWay;
}

export type BootWay = BmcConfiguration['boot']['way'];
type UrlWay = Exclude<BootWay, 'auto' | 'pxe'>;

const URL_WAYS: readonly UrlWay[] = ['http', 'media'];
const NOT_BY = { http: 'Not by UEFI HTTP', media: 'Not from a disc' } as const satisfies Record<
  UrlWay,
  string
>;
const SET_BY = { http: setByAddress, media: setByDisc } as const satisfies Record<UrlWay, SetByUrl>;

/** Null: it is set. Otherwise why it is not. */
export type SetByUrl = (
  options: OwnDiscOptions,
  call: ProviderCall,
  afterUnused: Parameters<NetworkInstalls['issueBootUrl']>[1]['afterUnused'],
) => Promise<string | null>;

export function createBmcNetboot(options: BmcNetbootOptions): Netboot {
  const { controlOf, installs } = options;
  return {
    async bootDevice(call) {
      const found = await controlOf(call.machine).bootDevice(call);
      // One by a URL is a boot of the installer only with the URL that was issued last: another one opens nothing.
      const isOurs =
        (found === 'http' && (await bootsFromOwnAddress(options, call))) ||
        (found === 'cd' && (await bootsFromOwnDisc(options, call)));
      // The BMC does not know what the network serves.
      return { device: isOurs ? 'pxe' : found, image: null, pending: false, pollAfterMs: 0 };
    },
    async setBootDevice(call, device) {
      if (device === 'pxe') {
        if (await setByUrl(options, call)) return;
        await installs.dropBootUrl(call.machine.machineId);
      }
      await ejectOwnDisc(options, call);
      await controlOf(call.machine).setBootDevice(call, device);
    },
  };
}

/** False: it is to be PXE, and the log says why. */
async function setByUrl(options: BmcNetbootOptions, call: ProviderCall): Promise<boolean> {
  const { way } = options;
  if (way === 'pxe') {
    call.log('Booting by PXE, where the MAC address counts: bmc.boot.way is pxe');
    return false;
  }
  const reasons: string[] = [];
  for (const each of way === 'auto' ? URL_WAYS : [way]) {
    const why = await SET_BY[each](options, call, way === 'auto' ? 'next way' : 'again');
    if (why === null) return true;
    call.log(`${NOT_BY[each]}: ${why}`);
    reasons.push(why);
  }
  // The same for both where the server is what can't.
  const why = [...new Set(reasons)].join('; ');
  if (way !== 'auto') throw wayNotOffered(way, why);
  call.log(`Booting by PXE, where the MAC address counts: ${why}`);
  return false;
}

function wayNotOffered(way: UrlWay, why: string): StepFailure {
  const message = `the installer can't be booted in the way that the provider demands (bmc.boot.way: ${way}): ${why}`;
  return new StepFailure({ class: 'permanent', code: 'BOOT_WAY_NOT_OFFERED', message });
}

async function bootsFromOwnAddress(
  { controlOf, installs }: OwnDiscOptions,
  call: ProviderCall,
): Promise<boolean> {
  const uri = await controlOf(call.machine).httpBootUri(call);
  return uri !== null && installs.isCurrentBootUrl(call.machine.machineId, uri);
}

async function setByAddress(
  options: OwnDiscOptions,
  call: ProviderCall,
  afterUnused: Parameters<SetByUrl>[2],
): Promise<string | null> {
  const { controlOf, installs } = options;
  const control = controlOf(call.machine);
  const obstacle = await control.httpBootObstacle(call);
  if (obstacle !== null) return obstacle;
  call.checkHeld();
  const request = { operationId: operationOf(call), way: 'http', afterUnused } as const;
  const issued = await installs.issueBootUrl(call.machine.machineId, request);
  if ('obstacle' in issued) return issued.obstacle;
  await ejectOwnDisc(options, call);
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
