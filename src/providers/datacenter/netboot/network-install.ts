/**
 * Imaging over the network: the machine boots an installer that this control plane serves, and reports by itself how
 * far it is. Nothing here writes a disk. An order says what is to be installed; the boot device and the power make
 * the machine ask for it; it reports the rest.
 */

import { StepFailure } from '../../../engine/step-handler.ts';
import { sleep } from '../../../time/sleep.ts';
import type { InstallOrderView, NetworkInstalls } from '../../network-installs.ts';
import {
  type Capabilities,
  type Imaging,
  type ImagingState,
  type Netboot,
  operationOf,
  type PowerControl,
  type ProviderCall,
} from '../../provider.ts';

export interface NetworkInstallOptions {
  readonly power: PowerControl;
  readonly netboot: Netboot;
  readonly installs: NetworkInstalls;
  /** Takes the disc of the installer out of the BMC's virtual drive, if it is there. Never fails for that. */
  readonly ejectDisc: (call: ProviderCall) => Promise<void>;
  /** A machine that has not asked for its installer after so long is power-cycled again. */
  readonly bootPatienceMs: number;
  /** How long a machine may take to be off. */
  readonly powerOffMs: number;
  readonly now: () => number;
}

/** A report wakes the operation at once; this is for those that get lost. */
export const POLL_AFTER_MS = 15_000;
const OFF_POLL_MS = 500;

export function withNetworkInstalls(
  options: NetworkInstallOptions,
): Pick<Capabilities, 'power' | 'netboot' | 'imaging'> {
  return {
    power: powerWithOrders(options),
    netboot: netbootWithImage(options),
    imaging: imagingByReports(options),
  };
}

export function isOrderOf(view: InstallOrderView | null, call: ProviderCall): view is InstallOrderView {
  return view !== null && view.operationId === operationOf(call);
}

/** Switching on is what makes the machine boot; an order of the same operation counts from then. */
function powerWithOrders({ power, installs }: NetworkInstallOptions): PowerControl {
  const { switchPower } = power;
  if (!switchPower) return power;
  return {
    ...power,
    async switchPower(call, to) {
      await switchPower(call, to);
      if (to === 'on') await installs.sentIntoBoot(call.machine.machineId, operationOf(call));
    },
  };
}

function netbootWithImage({ netboot, installs }: NetworkInstallOptions): Netboot {
  return {
    async bootDevice(call) {
      const boot = await netboot.bootDevice(call);
      const view = await installs.read(call.machine.machineId);
      const isQueued = isOrderOf(view, call) && (view.state === 'pending' || view.state === 'installing');
      return { ...boot, image: boot.device === 'pxe' && isQueued ? view.image : '' };
    },
    async setBootDevice(call, device, image) {
      const { machineId } = call.machine;
      const operationId = operationOf(call);
      call.signal.throwIfAborted();
      // First what would be served, then the boot that asks for it; the other way round on the way back.
      if (device === 'pxe' && image !== '') {
        const view = await installs.read(machineId);
        const key = isOrderOf(view, call) ? view.key : '';
        call.checkHeld();
        await installs.order(machineId, { operationId, key, image });
        call.log(`Queued for installation: ${image}`);
      }
      await netboot.setBootDevice(call, device, image);
      if (device !== 'pxe') await installs.giveUp(machineId, operationId, 'the operation was taken back');
    },
  };
}

function imagingByReports(options: NetworkInstallOptions): Imaging {
  const { installs, netboot, bootPatienceMs, now, ejectDisc } = options;

  /** The machine will not reach its installer: it was never made to boot, or has not reported for too long. */
  const needsReboot = (view: InstallOrderView) => {
    const isQuiet = view.state === 'pending' || (view.state === 'installing' && view.bootEnded);
    const neverSent = view.state === 'pending' && !view.hasBooted && !view.wasSent;
    return neverSent || (isQuiet && now() - view.lastActivityAt.getTime() > bootPatienceMs);
  };

  return {
    async imagingState(call) {
      const view = await installs.read(call.machine.machineId);
      if (!isOrderOf(view, call) || view.key === '' || needsReboot(view)) return { state: 'idle' };
      return { ...imagingOf(view), ...(view.hasUsedMedia ? LEFTOVER : {}) };
    },
    async startImaging(call, image) {
      const { machineId } = call.machine;
      call.signal.throwIfAborted();
      call.checkHeld();
      const before = await installs.read(machineId);
      // The disc has done its work with the boot: the next one is that of what is installed.
      if (isOrderOf(before, call) && before.hasUsedMedia) await ejectDisc(call);
      if (isOrderOf(before, call) && before.key === call.key && isOver(before)) return;
      await installs.order(machineId, { operationId: operationOf(call), key: call.key, image });
      const view = await installs.read(machineId);
      // A reboot of this operation before this step may have made it boot already.
      if (view && !needsReboot(view)) return;
      await netboot.setBootDevice(call, 'pxe', image);
      await powerCycle(options, call);
    },
    async stopImaging(call) {
      call.signal.throwIfAborted();
      call.checkHeld();
      await installs.giveUp(call.machine.machineId, operationOf(call), 'the operation was canceled');
      await ejectDisc(call);
    },
  };
}

export const LEFTOVER = { leftover: true } as const;

/** It was installed: an order again would start it again. */
function isOver({ state }: InstallOrderView): boolean {
  return state === 'installed' || state === 'active';
}

function imagingOf(view: InstallOrderView): ImagingState {
  const { key, image, lastError, attempts } = view;
  switch (view.state) {
    case 'pending':
      return {
        state: 'writing',
        key,
        progress: 0,
        pollAfterMs: POLL_AFTER_MS,
        detail: view.hasBooted
          ? 'The installer was fetched'
          : 'Waiting for the machine to boot its installer',
      };
    case 'installing':
      return {
        state: 'writing',
        key,
        progress: view.progress ?? 0,
        pollAfterMs: POLL_AFTER_MS,
        detail: attempts === 0 ? 'The installer is at work' : `Attempt ${attempts} failed: ${lastError}`,
      };
    case 'installed':
    case 'active':
      return { state: 'written', key, image };
    default:
      // The node itself has tried as often as it may: another attempt of ours would only do the same again.
      return { state: 'failed', key, error: lastError || `the node is ${view.state}`, isFinal: true };
  }
}

export async function powerCycle(
  { power, installs, powerOffMs }: NetworkInstallOptions,
  call: ProviderCall,
): Promise<void> {
  const { switchPower } = power;
  if (!switchPower)
    throw new TypeError("the machine can't be power-cycled: this provider does not switch its power");
  if ((await power.bootState(call)).power === 'on') {
    await switchPower(call, 'off');
    const until = Date.now() + powerOffMs;
    while ((await power.bootState(call)).power === 'on') {
      if (Date.now() > until) throw stillOn();
      await sleep(OFF_POLL_MS, call.signal);
      call.signal.throwIfAborted();
    }
    call.checkHeld();
  }
  await switchPower(call, 'on');
  await installs.sentIntoBoot(call.machine.machineId, operationOf(call));
}

function stillOn(): StepFailure {
  const message = 'the power was switched off, and stays on';
  return new StepFailure({ class: 'retryable', code: 'POWER_STAYS_ON', message });
}
