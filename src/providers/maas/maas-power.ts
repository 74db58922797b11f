/**
 * Power through MAAS. It knows on and off, and nothing about boots; so a reboot is off, seen, then on. Where commands can be
 * run on the deployed system, its kernel says which boot it is in, and it can be asked to reboot itself.
 *
 * To MAAS, power on of a machine that is Allocated means: deploy it. Therefore only a machine that is Deployed is
 * switched on here; any other comes on as part of what MAAS does with it.
 */
import { StepFailure } from '../../engine/step-handler.ts';
import { hostBootId, rebootHost } from '../../hosts/host-boot.ts';
import type { BootState, Inspect, PowerControl, ProbeResult, ProviderCall, RemoteExec } from '../provider.ts';
import type { MaasControl, MaasMachine } from './client/maas-control.ts';
import { lockedProblem } from './client/maas-ownership.ts';
import { machineByMac, notDeployed } from './machine-by-mac.ts';

const POLL_AFTER_MS = 5_000;

/** Services are given 90 seconds to stop, and then some. */
const GOES_DOWN_WITHIN_MS = 120_000;

/** Without a way to run commands, which boot a host is in is not known, and is not asked for. */
export function createMaasPower(maas: MaasControl, remoteExec: RemoteExec | null): PowerControl {
  return {
    goesDownWithinMs: GOES_DOWN_WITHIN_MS,
    async bootState(call): Promise<BootState> {
      const found = await machineByMac(maas, call, call.machine);
      const { systemId, status } = found;
      const asks = remoteExec !== null && status === 'Deployed';
      if (asks) checkUnlocked(call, found);
      else checkSwitchable(call, found);
      const isTold = hasPowerType(found);
      const known = isTold ? await maas.queryPower(call, systemId) : 'unknown';
      const host = asks && known !== 'off' ? await hostBootId(remoteExec, call) : { bootId: null };
      // A host that answers is on, whatever the BMC says.
      const power = host.bootId === null ? known : 'on';
      if (power === 'on' || power === 'off')
        return { power, ...host, ready: host.bootId !== null, pollAfterMs: POLL_AFTER_MS };
      // Where people switch the power, a host that does not answer is all there is to know.
      if (!isTold && host.hostProblem) throw host.hostProblem;
      checkSwitchable(call, found);
      throw powerUnknown(call, systemId);
    },
    async reboot(call, mode, bootId) {
      if (mode === 'ssh' && remoteExec) return rebootHost(remoteExec, call, bootId);
      throw new TypeError(`a machine of a MAAS is rebooted over ${mode} by switching its power`);
    },
    async switchPower(call, to) {
      const found = await machineByMac(maas, call, call.machine);
      const { systemId, status } = found;
      if (to === 'on' && status !== 'Deployed')
        throw notDeployed(call.machine, status, 'is switched on by itself');
      checkSwitchable(call, found);
      call.log(`Switching power ${to} through MAAS (${systemId})`);
      await (to === 'on' ? maas.powerOn(call, systemId) : maas.powerOff(call, systemId));
    },
    async shutDown(call) {
      const found = await machineByMac(maas, call, call.machine);
      const { systemId } = found;
      checkSwitchable(call, found);
      call.log(`Asking the operating system to shut down through MAAS (${systemId})`);
      await maas.powerOff(call, systemId, 'soft');
    },
  };
}

/**
 * What the last sweep of the machines' upstream recorded (reconcilers/upstream-sweep.ts): a probe of a single machine
 * asks MAAS nothing. MAAS itself queries every BMC every few minutes and keeps the answer. About hosts MAAS only knows
 * what it last did with them, which says nothing about whether they answer.
 */
export const MAAS_INSPECT: Inspect = {
  host: async () => null,
  cluster: async () => null,
  bmc: async ({ spec, observed }) =>
    observed?.source === spec.provider ? probeResultOf(spec.provider, observed.power) : null,
};

function probeResultOf(maas: string, power: string): ProbeResult | null {
  switch (power) {
    case 'error':
      return { ok: false, reason: 'NoAnswer', message: `${maas} gets no answer from its BMC` };
    case 'on':
    case 'off':
      return { ok: true, reason: 'BmcOK', message: `its BMC answers ${maas}; power is ${power}` };
    default:
      return null;
  }
}

function hasPowerType({ powerType }: MaasMachine): boolean {
  return powerType !== 'manual' && powerType !== '';
}

function checkUnlocked({ machine }: ProviderCall, found: MaasMachine): void {
  const locked = lockedProblem(found, machine.spec.provider);
  if (locked) throw locked;
}

/** What MAAS would refuse, or answer without doing it. */
function checkSwitchable(call: ProviderCall, found: MaasMachine): void {
  checkUnlocked(call, found);
  if (hasPowerType(found)) return;
  const { machine } = call;
  const kind = found.powerType === '' ? 'it has no power type' : 'its power type is manual';
  const message = `MAAS can neither switch nor read the power of ${machine.machineId} (${found.systemId}): ${kind} there`;
  throw new StepFailure({ class: 'needs_human', code: 'MAAS_POWER_MANUAL', message });
}

function powerUnknown({ machine }: ProviderCall, systemId: string): StepFailure {
  const message = `MAAS does not know whether ${machine.machineId} (${systemId}) is on: its BMC does not answer MAAS`;
  const outage = {
    upstream: 'the BMC',
    name: `${machine.machineId}, asked by MAAS`,
    effect: 'none',
  } as const;
  return new StepFailure({ class: 'retryable', code: 'MAAS_POWER_UNKNOWN', message }, outage);
}
