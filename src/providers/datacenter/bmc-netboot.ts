/** The device of the next boot, set and read back through a BMC. */
import type { Netboot } from '../provider.ts';
import type { ControlOf } from './bmc-control.ts';

export function createBmcNetboot(controlOf: ControlOf): Netboot {
  return {
    async bootDevice(call) {
      const device = await controlOf(call.machine).bootDevice(call);
      // The BMC does not know what the network serves.
      return { device, image: null, pending: false, pollAfterMs: 0 };
    },
    setBootDevice: async (call, device) => controlOf(call.machine).setBootDevice(call, device),
  };
}
