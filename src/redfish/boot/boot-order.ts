/** The order in which a system tries its boot options. It lasts, as opposed to the boot override (boot-override.ts). */
import type { BootOrderRequest, SettingsState } from '../../domain/hardware/hardware-change.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { fieldsOf, linkOf, textOf, textsOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import { applyTimeOf } from '../firmware/bios-settings.ts';
import type { RedfishService, Resource, StartedTask } from '../service/redfish-service.ts';

interface BootOrder {
  readonly current: readonly string[];
  /** The order that the system would have. */
  readonly wanted: readonly string[];
  readonly property: 'BootOrder' | 'AliasBootOrder';
  readonly place: Resource;
  readonly settings: Readonly<Record<string, unknown>>;
  /** What waits for the next reset; null: nothing can. */
  readonly pending: readonly string[] | null;
}

interface BootOption {
  readonly reference: string;
  readonly name: string;
  readonly names: readonly string[];
}

export async function compareBootOrder(
  service: RedfishService,
  request: BootOrderRequest,
): Promise<SettingsState> {
  const { current, wanted, pending } = await readBootOrder(service, request);
  if (isSame(current, wanted)) return { state: 'as_wanted', message: `boots from ${current.join(', ')}` };
  if (pending !== null && isSame(pending, wanted))
    return { state: 'staged', message: `${wanted.join(', ')} for the next reset` };
  const difference = `the boot order is ${current.join(', ')}, wanted ${wanted.join(', ')}`;
  return { state: 'differs', differences: [difference], lastMessage: '' };
}

export async function stageBootOrder(
  service: RedfishService,
  request: BootOrderRequest,
  log: (text: string) => void,
): Promise<StartedTask | null> {
  const { current, wanted, property, place, settings } = await readBootOrder(service, request);
  log(`Setting the boot order: ${current.join(', ')} -> ${wanted.join(', ')}`);
  return service.change(place, { Boot: { [property]: wanted }, ...applyTimeOf(settings) });
}

async function readBootOrder(service: RedfishService, request: BootOrderRequest): Promise<BootOrder> {
  const system = await service.system();
  const boot = fieldsOf(system.fields.Boot);
  const property = boot.BootOrderPropertySelection === 'AliasBootOrder' ? 'AliasBootOrder' : 'BootOrder';
  const current = textsOf(boot[property]);
  if (current.length === 0)
    throw new RedfishFailure('NotOffered', service.where, `${system.path} has no boot order`);
  const settings = fieldsOf(system.fields['@Redfish.Settings']);
  const path = linkOf(settings.SettingsObject);
  const object = path === null ? null : await service.find(path);
  const pending = fieldsOf(object?.fields.Boot)[property];
  const isSettable = object !== null && Array.isArray(pending);
  return {
    current,
    wanted: orderFor(service.where, request, current, await optionsOf(service, boot, current)),
    property,
    place: isSettable ? object : system,
    settings: isSettable ? settings : {},
    pending: isSettable ? textsOf(pending) : null,
  };
}

/** Options that can be booted from: an order of aliases has no others. */
async function optionsOf(
  service: RedfishService,
  boot: Readonly<Record<string, unknown>>,
  current: readonly string[],
): Promise<BootOption[]> {
  const collection = linkOf(boot.BootOptions);
  const resources = collection === null ? [] : await service.resources(collection);
  const options = resources.map(({ fields }) => {
    const reference = textOf(fields.BootOptionReference) || textOf(fields.Id);
    const name = textOf(fields.DisplayName) || textOf(fields.Name);
    const alias = aliasOf(textOf(fields.Alias), name);
    const names = [reference, textOf(fields.Id), name, alias, textOf(fields.UefiDevicePath)];
    return { reference, name, names: names.filter((each) => each !== '') };
  });
  const bare = current.filter((reference) => !options.some((option) => option.reference === reference));
  return [...options, ...bare.map((reference) => ({ reference, name: reference, names: [reference] }))];
}

/** What the firmware calls options whose alias is left out, or None, as most services have it. */
const ALIASES: ReadonlyArray<readonly [alias: string, name: RegExp]> = [
  ['Pxe', /\bPXE|^Network$/i],
  ['UefiHttp', /\bHTTPS?(?:\b|v[46])/i],
  ['Hdd', /^Hard ?(?:Disk|Drive)\b/i],
  ['Cd', /^(?:CD|DVD)\b/i],
];

function aliasOf(alias: string, name: string): string {
  if (alias !== '' && alias !== 'None') return alias;
  return ALIASES.find(([, pattern]) => pattern.test(name))?.[0] ?? '';
}

/** What is named comes first; several options of one alias keep their order among themselves, and so do all others. */
function orderFor(
  where: string,
  request: BootOrderRequest,
  current: readonly string[],
  options: readonly BootOption[],
): string[] {
  const rank = (reference: string) => {
    const at = current.indexOf(reference);
    return at < 0 ? current.length : at;
  };
  const chosen: string[] = [];
  const unknown: string[] = [];
  for (const entry of request) {
    const found = options.filter(({ names }) => names.includes(entry)).map(({ reference }) => reference);
    if (found.length === 0) unknown.push(entry);
    chosen.push(...found.toSorted((one, other) => rank(one) - rank(other)));
  }
  if (unknown.length > 0) {
    const known = options.map(({ reference, name }) =>
      name === reference ? reference : `${reference} (${name})`,
    );
    throw new StepFailure({
      class: 'permanent',
      code: 'SETTINGS_REFUSED',
      message: `the BMC ${where} has no boot option ${unknown.join(', ')}; it has ${known.join(', ')}`,
    });
  }
  return [...new Set([...chosen, ...current])];
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((entry, index) => entry === other[index]);
}
