/**
 * Erasing over the network: the machine boots Ingot's installer, which erases its disks and reports what became of each.
 * As with an installation, an order says what is to happen; the boot device and the power make the machine ask for it.
 */
import type { InstallOrderView } from '../../network-installs.ts';
import { type Erasing, type ErasingState, operationOf } from '../../provider.ts';
import {
  isOrderOf,
  LEFTOVER,
  type NetworkInstallOptions,
  POLL_AFTER_MS,
  powerCycle,
} from './network-install.ts';

export function erasingByReports(options: NetworkInstallOptions): Erasing {
  const { installs, netboot, bootPatienceMs, now, ejectDisc } = options;

  /** The machine will not reach its eraser: it was never made to boot, or has not reported for too long. */
  const needsReboot = (view: InstallOrderView) => {
    if (view.state !== 'deprovisioning' || view.isAtWork) return false;
    const neverSent = !view.hasBooted && !view.wasSent;
    return neverSent || now() - view.lastActivityAt.getTime() > bootPatienceMs;
  };

  return {
    async erasingState(call) {
      const view = await installs.read(call.machine.machineId);
      if (!isOrderOf(view, call) || view.key === '') return { state: 'idle' };
      if (needsReboot(view) && !view.isGivenUp) return { state: 'idle' };
      return { ...erasingOf(view), ...(view.hasUsedMedia ? LEFTOVER : {}) };
    },
    async startErasing(call, overwrite) {
      const { machineId } = call.machine;
      call.signal.throwIfAborted();
      call.checkHeld();
      const before = await installs.read(machineId);
      if (isOrderOf(before, call) && before.hasUsedMedia) await ejectDisc(call);
      await installs.orderErase(machineId, { operationId: operationOf(call), key: call.key, overwrite });
      const view = await installs.read(machineId);
      if (view && !needsReboot(view)) return;
      call.log('Queued for erasure');
      await netboot.setBootDevice(call, 'pxe', '');
      await powerCycle(options, call);
    },
    async stopErasing(call) {
      call.signal.throwIfAborted();
      call.checkHeld();
      await installs.giveUp(call.machine.machineId, operationOf(call), 'the operation was canceled');
      await ejectDisc(call);
    },
  };
}

function erasingOf(view: InstallOrderView): ErasingState {
  const { key, lastError, attempts, erasure } = view;
  switch (view.state) {
    case 'deprovisioning':
      if (view.isGivenUp) return { state: 'failed', key, error: lastError, isFinal: true };
      return {
        state: 'erasing',
        key,
        isAtWork: view.isAtWork,
        progress: view.progress ?? 0,
        pollAfterMs: POLL_AFTER_MS,
        detail: detailOf(view, attempts, lastError),
      };
    case 'retired':
      if (erasure === null)
        return { state: 'unproven', key, message: 'the node was retired before it reported an erasure' };
      if (erasure.outcome === 'erased' || erasure.outcome === 'partial')
        return { state: 'erased', key, erasure };
      return { state: 'unproven', key, message: 'the node was retired, and no disk is proven erased' };
    default:
      return { state: 'failed', key, error: `the node is ${view.state}`, isFinal: true };
  }
}

function detailOf(view: InstallOrderView, attempts: number, lastError: string): string {
  if (view.isAtWork) return 'The disks are being erased';
  if (attempts > 0) return `Attempt ${attempts} failed: ${lastError}`;
  return view.hasBooted ? 'The installer was fetched' : 'Waiting for the machine to boot its installer';
}
