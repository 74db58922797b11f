/** The power of a system: its state, and the reset that changes it, chosen from what the service offers. */
import { fieldsOf, linkOf, textOf, textsOf } from './extended-error.ts';
import { RedfishFailure } from './redfish-failure.ts';
import type { RedfishService, Resource } from './redfish-service.ts';

export type SystemPower = 'on' | 'off';

/** A system on its way off is still on, and one on its way on still off: only what it has reached counts. */
const POWER_OF_STATE: Readonly<Record<string, SystemPower>> = {
  On: 'on',
  PoweringOff: 'on',
  Paused: 'on',
  Off: 'off',
  PoweringOn: 'off',
};

/** First choice first. Pushing the button is what ACPI makes of a wish to shut down; it is never used to switch on. */
const RESETS = {
  on: ['On', 'ForceOn'],
  off: ['ForceOff'],
  shutdown: ['GracefulShutdown', 'PushPowerButton'],
} as const;

export type ResetWish = keyof typeof RESETS;

export function powerOf(system: Resource, where: string): SystemPower {
  const state = textOf(system.fields.PowerState);
  const power = POWER_OF_STATE[state];
  if (power) return power;
  const said = state === '' ? 'it does not say whether the machine is on' : `its power state is ${state}`;
  throw new RedfishFailure('CommandRefused', where, said);
}

/**
 * Sends the reset, and says which and why. A refusal counts as success where the machine has reached the wanted power: services
 * refuse, each with another status, to switch on what is on.
 */
export async function reset(
  service: RedfishService,
  wish: ResetWish,
  log: (text: string) => void,
): Promise<void> {
  const system = await service.system();
  const wanted = wish === 'on' ? 'on' : 'off';
  if (powerOf(system, service.where) === wanted && !isOnItsWay(system)) {
    log(`The machine is ${wanted}: nothing to do`);
    return;
  }
  const { target, offered } = await resetAction(service, system);
  const type = chooseReset(service, wish, offered);
  log(
    `Sending the reset ${type} over Redfish (${offered === null ? 'offered resets are not listed' : `offered: ${offered.join(', ')}`})`,
  );
  try {
    await service.post(target, { ResetType: type });
  } catch (error) {
    const isRefused = error instanceof RedfishFailure && error.reason === 'CommandRefused';
    if (!isRefused || powerOf(await service.system(), service.where) !== wanted) throw error;
    log(`The BMC refused it, and the machine is ${wanted}`);
  }
}

const isOnItsWay = ({ fields }: Resource) => /^Powering/.test(textOf(fields.PowerState));

function chooseReset(service: RedfishService, wish: ResetWish, offered: readonly string[] | null): string {
  const [first] = RESETS[wish];
  const type = offered === null ? first : RESETS[wish].find((each) => offered.includes(each));
  if (type !== undefined) return type;
  const list = offered?.join(', ') ?? '';
  const detail = `a reset of type ${RESETS[wish].join(' or ')}; it offers ${list === '' ? 'none' : list}`;
  throw new RedfishFailure('NotOffered', service.where, detail);
}

interface ResetAction {
  readonly target: string;
  /** Null: the service does not list them. */
  readonly offered: readonly string[] | null;
}

/** What is offered is in the action itself, or in a resource of its own. */
async function resetAction(service: RedfishService, system: Resource): Promise<ResetAction> {
  const action = fieldsOf(fieldsOf(system.fields.Actions)['#ComputerSystem.Reset']);
  const target = linkOf({ '@odata.id': action.target });
  if (target === null) throw new RedfishFailure('NotOffered', service.where, `${system.path} has no reset`);
  const listed = textsOf(action['ResetType@Redfish.AllowableValues']);
  if (listed.length > 0) return { target, offered: listed };
  const info = linkOf({ '@odata.id': action['@Redfish.ActionInfo'] });
  const described = info === null ? null : await service.find(info);
  const parameters = described?.fields.Parameters;
  const types = (Array.isArray(parameters) ? parameters : [])
    .map(fieldsOf)
    .find(({ Name: name }) => name === 'ResetType');
  const offered = textsOf(types?.AllowableValues);
  return { target, offered: offered.length > 0 ? offered : null };
}
