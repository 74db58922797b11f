/**
 * The installer as a disc in the virtual drive of a BMC. What is inserted is written down before, and stays so until it was seen to be out
 * again: after the machine has booted from it, on a cancel, before another boot, and where an operation ended without that, by a sweep
 * (src/reconcilers/media-sweep.ts). What someone else has inserted is left there.
 */
import { StepFailure } from '../../../engine/step-handler.ts';
import type { NetworkInstalls } from '../../network-installs.ts';
import { operationOf, type ProviderCall } from '../../provider.ts';
import type { BmcControl, ControlOf } from '../bmc/bmc-control.ts';
import { isRefusedByBmc } from '../bmc/bmc-refusal.ts';
import type { SetByUrl } from './bmc-netboot.ts';

export interface OwnDiscOptions {
  readonly controlOf: ControlOf;
  readonly installs: Pick<
    NetworkInstalls,
    | 'issueBootUrl'
    | 'isCurrentBootUrl'
    | 'dropBootUrl'
    | 'insertsMedia'
    | 'hasInsertedMedia'
    | 'isInsertedMedia'
    | 'ejectedMedia'
  >;
}

/** The next boot is one from the virtual drive, with the disc of the URL that was issued last in it. */
export async function bootsFromOwnDisc(
  { controlOf, installs }: OwnDiscOptions,
  call: ProviderCall,
): Promise<boolean> {
  const { machineId } = call.machine;
  if (!(await installs.hasInsertedMedia(machineId))) return false;
  const url = await controlOf(call.machine).insertedMedia(call);
  return url !== null && installs.isCurrentBootUrl(machineId, url);
}

export const setByDisc: SetByUrl = async (options, call, afterUnused) => {
  const { controlOf, installs } = options;
  const { machineId } = call.machine;
  const control = controlOf(call.machine);
  const obstacle = await control.mediaObstacle(call);
  if (obstacle !== null) return obstacle;
  call.checkHeld();
  const operationId = operationOf(call);
  const issued = await installs.issueBootUrl(machineId, { operationId, way: 'media', afterUnused });
  if ('obstacle' in issued) return issued.obstacle;
  await ejectOwnDisc(options, call);
  // Never with the URL itself: who has it boots as the machine.
  call.log(
    'Booting from a disc of the installer in the virtual drive of the BMC, by a one-time URL: the MAC address opens nothing now',
  );
  await installs.insertsMedia(machineId, operationId, issued.url);
  const refused = await insertAndBoot(control, call, issued.url);
  if (refused === null) return null;
  await ejectOwnDisc(options, call);
  await installs.dropBootUrl(machineId);
  return refused;
};

/** Null: done. Otherwise what the BMC refused. */
async function insertAndBoot(control: BmcControl, call: ProviderCall, url: string): Promise<string | null> {
  let refused = 'the BMC refused the disc of the installer';
  try {
    await control.insertOwnMedia(call, url);
    refused = 'the BMC refused to boot from its virtual drive';
    await control.bootFromMedia(call);
    return null;
  } catch (error) {
    const isKept = error instanceof StepFailure && error.failure.code === 'BOOT_DEVICE_NOT_SET';
    if (!isKept && !isRefusedByBmc(error)) throw error;
    return refused;
  }
}

/** Takes our disc out, if it is there. That it can't be taken out stops nothing: the sweep tries it again. */
export async function ejectOwnDisc(options: OwnDiscOptions, call: ProviderCall): Promise<void> {
  const { installs } = options;
  const { machineId } = call.machine;
  if (!(await installs.hasInsertedMedia(machineId))) return;
  call.checkHeld();
  try {
    const result = await takeOutOwnDisc(options, call);
    await installs.ejectedMedia(machineId, 'out');
    if (result === 'ejected') call.log('The disc of the installer is out of the virtual drive');
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    await installs.ejectedMedia(machineId, 'not known');
    call.log(
      `The disc of the installer was not ejected, and it is tried again later: ${error.failure.message}`,
      'stderr',
    );
  }
}

export async function takeOutOwnDisc(
  { controlOf, installs }: OwnDiscOptions,
  call: ProviderCall,
): Promise<'ejected' | 'not there'> {
  const control = controlOf(call.machine);
  const url = await control.insertedMedia(call);
  if (url === null || !(await installs.isInsertedMedia(call.machine.machineId, url))) return 'not there';
  await control.ejectMedia(call);
  return 'ejected';
}
