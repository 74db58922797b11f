/**
 * Power through MAAS. It knows on and off, and nothing about boots; so a reboot is off, seen, then on.
 *
 * To MAAS, power on of a machine that is Allocated means: deploy it. Therefore only a machine that is Deployed is
 * switched on here; any other comes on as part of what MAAS does with it.
 */
import { StepFailure } from '../../engine/step-handler.ts';
import type { BootState, Inspect, PowerControl, ProviderCall, Sighting } from '../provider.ts';
import type { MaasControl, MaasMachine } from './maas-control.ts';
import { lockedProblem } from './maas-ownership.ts';
import { machineByMac } from './machine-by-mac.ts';

const LOOK_AGAIN_MS = 5_000;

export function createMaasPower(maas: MaasControl): PowerControl {
  return {
    async bootState(call): Promise<BootState> {
      const found = await machineByMac(maas, call, call.machine);
      const { systemId } = found;
      checkSwitchable(call, found);
      const power = await maas.queryPower(call, systemId);
      if (power === 'on' || power === 'off')
        return { power, bootId: null, ready: false, lookAgainMs: LOOK_AGAIN_MS };
      const message = `MAAS does not know whether ${call.machine.machineId} (${systemId}) is on: its BMC does not answer MAAS`;
      const outage = {
        upstream: 'the BMC',
        name: `${call.machine.machineId}, asked by MAAS`,
        effect: 'none',
      } as const;
      throw new StepFailure({ class: 'retryable', code: 'MAAS_POWER_UNKNOWN', message }, outage);
    },
    async reboot(_call, mode) {
      throw new TypeError(`a machine of a MAAS is rebooted over ${mode} by switching its power`);
    },
    async switchPower(call, to) {
      const found = await machineByMac(maas, call, call.machine);
      const { systemId, status } = found;
      if (to === 'on' && status !== 'Deployed') throw notDeployed(call, status);
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
    observed?.source === spec.provider ? sightingOf(spec.provider, observed.power) : null,
};

function sightingOf(maas: string, power: string): Sighting | null {
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

/** What MAAS would not do, or only pretend to. */
function checkSwitchable({ machine }: ProviderCall, found: MaasMachine): void {
  const locked = lockedProblem(found, machine.spec.provider);
  if (locked) throw locked;
  if (found.powerType !== 'manual' && found.powerType !== '') return;
  const kind = found.powerType === '' ? 'it has no power type' : 'its power type is manual';
  const message = `MAAS can neither switch nor tell the power of ${machine.machineId} (${found.systemId}): ${kind} there`;
  throw new StepFailure({ class: 'needs_human', code: 'MAAS_POWER_MANUAL', message });
}

function notDeployed({ machine }: ProviderCall, status: string): StepFailure {
  const message = `${machine.machineId} is ${status} in MAAS; only a Deployed machine is switched on by itself`;
  return new StepFailure({ class: 'permanent', code: 'MAAS_NOT_DEPLOYED', message });
}
