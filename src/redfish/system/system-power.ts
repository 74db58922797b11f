/** The power of a system: its state, and the reset that changes it, chosen from what the service offers. */
import { POWER_REQUESTS, type PowerRequest } from '../../domain/hardware/power-request.ts';
import { textOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { chooseReset, offeredText, resetAction } from './reset-action.ts';

export type SystemPower = 'on' | 'off';

/** A system on its way off is still on, and one on its way on still off: only what it has reached counts. */
const POWER_OF_STATE: Readonly<Record<string, SystemPower>> = {
  On: 'on',
  PoweringOff: 'on',
  Paused: 'on',
  Off: 'off',
  PoweringOn: 'off',
};

export function powerOf(system: Resource, where: string): SystemPower {
  const state = textOf(system.fields.PowerState);
  const power = POWER_OF_STATE[state];
  if (power) return power;
  const said = state === '' ? 'does not say whether the machine is on' : `has the power state ${state}`;
  throw new RedfishFailure('Unreadable', where, `${system.path} ${said}`);
}

/**
 * Sends the reset, and says which and why. A refusal counts as success where the machine has reached the wanted power: services
 * refuse, each with another status, to switch on what is on.
 */
export async function reset(
  service: RedfishService,
  request: PowerRequest,
  log: (text: string) => void,
): Promise<void> {
  const system = await service.system();
  const wanted = POWER_REQUESTS[request].endsIn;
  if (wanted !== null && powerOf(system, service.where) === wanted && !isChanging(system)) {
    log(`The machine is ${wanted}: nothing to do`);
    return;
  }
  const { target, offered } = await resetAction(service, system, '#ComputerSystem.Reset');
  const type = chooseReset(service, POWER_REQUESTS[request].redfish, offered);
  log(`Sending the reset ${type} over Redfish (${offeredText(offered)})`);
  try {
    await service.post(target, { ResetType: type });
  } catch (error) {
    const isRefused = error instanceof RedfishFailure && error.reason === 'CommandRefused';
    if (!isRefused || powerOf(await service.system(), service.where) !== wanted) throw error;
    log(`The BMC refused it, and the machine is ${wanted}`);
  }
}

/** Whether the service can do it; one that lists nothing is believed to. */
export async function offersReset(service: RedfishService, request: PowerRequest): Promise<boolean> {
  const { offered } = await resetAction(service, await service.system(), '#ComputerSystem.Reset');
  return offered === null || POWER_REQUESTS[request].redfish.some((type) => offered.includes(type));
}

const isChanging = ({ fields }: Resource) => /^Powering/.test(textOf(fields.PowerState));
