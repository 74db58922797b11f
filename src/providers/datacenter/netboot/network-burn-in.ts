/** A burn-in over the network: the machine boots Ingot's installer, which tests it and reports what became of each part. */
import type { BurnIn } from '../../../domain/hardware/burn-in.ts';
import type { BurnInOrders } from '../../burn-ins.ts';
import type { BurnInControl } from '../../hardware-changes.ts';
import { operationOf } from '../../provider.ts';
import { type NetworkInstallOptions, POLL_AFTER_MS, powerCycle } from './network-install.ts';

export function burnInByReports(
  options: NetworkInstallOptions & { readonly burnIns: BurnInOrders },
): BurnInControl {
  const { burnIns, netboot, bootPatienceMs, now } = options;

  /** The machine will not reach its test: it was never made to boot, or has not reported for too long. */
  const needsReboot = ({ state, sentAt, seenAt }: BurnIn) => {
    if (state !== 'ordered' && state !== 'running') return false;
    if (sentAt === null) return true;
    return now() - Math.max(sentAt.getTime(), seenAt?.getTime() ?? 0) > bootPatienceMs;
  };

  return {
    async state(call) {
      const found = await burnIns.read(call.machine.machineId, operationOf(call));
      if (found === null || found.key !== call.key || needsReboot(found)) return null;
      return { ...found, pollAfterMs: POLL_AFTER_MS };
    },
    async start(call, request) {
      const { machineId } = call.machine;
      const operationId = operationOf(call);
      call.signal.throwIfAborted();
      call.checkHeld();
      await burnIns.order({ ...request, machineId, operationId, key: call.key });
      const found = await burnIns.read(machineId, operationId);
      if (found && !needsReboot(found)) return;
      call.log('Queued for a burn-in');
      await netboot.setBootDevice(call, 'pxe', '');
      await powerCycle(options, call);
      await burnIns.sent(machineId, operationId);
    },
    async stop(call) {
      call.signal.throwIfAborted();
      call.checkHeld();
      await burnIns.giveUp(call.machine.machineId, operationOf(call), 'the operation was canceled');
    },
  };
}
