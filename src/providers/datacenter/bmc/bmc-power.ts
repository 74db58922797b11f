/**
 * Power through a BMC. A BMC knows on and off, and nothing about boots; the host's kernel knows its boot, and can be asked
 * over SSH while it runs. A reboot is therefore power off, seen, then power on: the one command for both that IPMI and Redfish
 * have leaves nothing behind that shows whether it was carried out.
 */

import { hostBootId, rebootHost } from '../../../hosts/host-boot.ts';
import type { BootState, PowerControl, ProviderCall, RemoteExec } from '../../provider.ts';
import type { ControlOf } from './bmc-control.ts';
import { isRefusedByBmc } from './bmc-refusal.ts';

const POLL_AFTER_MS = 2_000;
/** Services are given 90 seconds to stop, and then some. */
const GOES_DOWN_WITHIN_MS = 120_000;

const FROM_NETWORK: readonly string[] = ['pxe', 'http'];

export interface BmcPowerOptions {
  readonly controlOf: ControlOf;
  /** Null: no host can be reached. */
  readonly remoteExec: RemoteExec | null;
}

export function createBmcPower({ controlOf, remoteExec }: BmcPowerOptions): PowerControl {
  /** Whether the next boot is one of the host that we know: what the network serves has other keys, or no sshd. */
  const bootsItself = async (call: ProviderCall) => {
    try {
      return !FROM_NETWORK.includes(await controlOf(call.machine).bootDevice(call));
    } catch (error) {
      if (isRefusedByBmc(error)) return true;
      throw error;
    }
  };

  return {
    goesDownWithinMs: GOES_DOWN_WITHIN_MS,
    async bootState(call): Promise<BootState> {
      const power = await controlOf(call.machine).power(call);
      const asks = power === 'on' && remoteExec !== null && call.machine.spec.ssh_endpoint !== '';
      const host = asks && (await bootsItself(call)) ? await hostBootId(remoteExec, call) : { bootId: null };
      return { power, ...host, ready: host.bootId !== null, pollAfterMs: POLL_AFTER_MS };
    },
    async reboot(call, mode, bootId) {
      if (mode === 'ssh' && remoteExec) return rebootHost(remoteExec, call, bootId);
      throw new TypeError(`a machine with a BMC is rebooted over ${mode} by switching its power`);
    },
    switchPower: async (call, to) => controlOf(call.machine).switchPower(call, to),
    shutDown: async (call) => controlOf(call.machine).shutDown(call),
  };
}
