/**
 * Power over IPMI. A BMC knows on and off, and nothing about boots; the host's kernel knows its boot, and can be asked
 * over SSH while it runs. A reboot is therefore power off, seen, then power on: the one command for both that IPMI has
 * leaves nothing behind that shows whether it was carried out.
 */

import { hostBootId, rebootHost } from '../../hosts/host-boot.ts';
import type { BootState, PowerControl, ProviderCall, RemoteExec } from '../provider.ts';
import type { BmcConfiguration } from './bmc-configuration.ts';
import { BmcFailure, type Bmcs, powerOf } from './bmcs.ts';
import { readBootDevice } from './ipmi-netboot.ts';

const POLL_AFTER_MS = 2_000;
/** Services are given 90 seconds to stop, and then some. */
const GOES_DOWN_WITHIN_MS = 120_000;

export interface IpmiPowerOptions {
  readonly bmcs: Bmcs;
  readonly configuration: BmcConfiguration;
  /** Null: no host can be reached. */
  readonly remoteExec: RemoteExec | null;
}

export function createIpmiPower({ bmcs, configuration, remoteExec }: IpmiPowerOptions): PowerControl {
  /** Whether the next boot is one of the host that we know: what the network serves has other keys, or no sshd. */
  const bootsItself = (call: ProviderCall) =>
    bmcs.use(call, async (bmc) => {
      try {
        return (await readBootDevice(bmc, configuration)) !== 'pxe';
      } catch (error) {
        if (error instanceof BmcFailure && error.reason === 'CommandRefused') return true;
        throw error;
      }
    });

  return {
    goesDownWithinMs: GOES_DOWN_WITHIN_MS,
    async bootState(call): Promise<BootState> {
      const power = await bmcs.use(call, powerOf);
      const asks = power === 'on' && remoteExec !== null && call.machine.spec.ssh_endpoint !== '';
      const host = asks && (await bootsItself(call)) ? await hostBootId(remoteExec, call) : { bootId: null };
      return { power, ...host, ready: host.bootId !== null, pollAfterMs: POLL_AFTER_MS };
    },
    async reboot(call, mode, bootId) {
      if (mode === 'ssh' && remoteExec) return rebootHost(remoteExec, call, bootId);
      throw new TypeError(`a machine with a BMC is rebooted over ${mode} by switching its power`);
    },
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
  };
}
