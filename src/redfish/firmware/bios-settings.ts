/**
 * BIOS settings of a system. The resource Bios has what is in force; what is changed goes into its settings object, which the firmware
 * takes over at the next reset. A change is checked by the attribute registry first, where the service has one: a BMC that takes an
 * unknown value shows it as pending, and the firmware drops it.
 */
import type { BiosRequest, BiosValue, SettingsState } from '../../domain/hardware/hardware-change.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { type Fields, fieldsOf, linkOf, listOf, textOf, textsOf } from '../connection/answer-fields.ts';
import { extendedMessages, wordsOf } from '../connection/extended-error.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishService, Resource, StartedTask } from '../service/redfish-service.ts';

interface Bios {
  readonly resource: Resource;
  readonly current: Fields;
  /** Where changes go, and what waits there. */
  readonly place: Resource;
  readonly pending: Fields;
}

const MAX_LISTED = 20;

export async function compareBios(service: RedfishService, request: BiosRequest): Promise<SettingsState> {
  const bios = await readBios(service);
  const { current, pending, place } = bios;
  checkKnown(service, current, request);
  const differing = Object.entries(request).filter(([name, value]) => !isSame(current[name], value));
  if (differing.length === 0) return { state: 'as_wanted', message: `${count(request)} as wanted` };
  const isStaged = place.path !== bios.resource.path;
  if (isStaged && differing.every(([name, value]) => isSame(pending[name], value)))
    return { state: 'staged', message: `${differing.map(([name]) => name).join(', ')} for the next reset` };
  return {
    state: 'differs',
    differences: differing.map(
      ([name, value]) => `${name} is ${shown(current[name])}, wanted ${shown(value)}`,
    ),
    lastMessage: wordsOf(extendedMessages({ '@Message.ExtendedInfo': settingsOf(bios.resource).Messages })),
  };
}

export async function stageBios(
  service: RedfishService,
  request: BiosRequest,
  log: (text: string) => void,
): Promise<StartedTask | null> {
  const { resource, current, place } = await readBios(service);
  checkKnown(service, current, request);
  checkAllowed(service, await registryOf(service, resource), request);
  const differing = Object.entries(request).filter(([name, value]) => !isSame(current[name], value));
  const attributes = Object.fromEntries(
    differing.map(([name, value]) => [name, asTypeOf(current[name], value)]),
  );
  for (const [name, value] of differing) log(`${name}: ${shown(current[name])} -> ${shown(value)}`);
  return service.change(place, { Attributes: attributes, ...applyTimeOf(settingsOf(resource)) });
}

/** What the settings object takes as the time at which its values come into force. */
export function applyTimeOf(settings: Fields): Fields {
  const offered = textsOf(settings.SupportedApplyTimes);
  const time = ['OnReset', 'Immediate'].find((each) => offered.includes(each));
  if (time === undefined) return {};
  return {
    '@Redfish.SettingsApplyTime': {
      '@odata.type': '#Settings.v1_1_0.PreferredApplyTime',
      ApplyTime: time,
    },
  };
}

function settingsOf({ fields }: Resource): Fields {
  return fieldsOf(fields['@Redfish.Settings']);
}

async function readBios(service: RedfishService): Promise<Bios> {
  const system = await service.system();
  const path = linkOf(system.fields.Bios);
  const resource = path === null ? null : await service.find(path);
  const current = fieldsOf(resource?.fields.Attributes);
  if (!resource || Object.keys(current).length === 0)
    throw new RedfishFailure('NotOffered', service.where, `${system.path} has no BIOS settings`);
  const place = (await service.settingsOf(resource)) ?? resource;
  return { resource, current, place, pending: fieldsOf(place.fields.Attributes) };
}

function checkKnown({ where }: RedfishService, current: Fields, request: BiosRequest): void {
  const unknown = Object.keys(request).filter((name) => !Object.hasOwn(current, name));
  if (unknown.length > 0) throw refused(where, `it has no ${unknown.join(', ')}`);
}

/** Null: the service has none, or none that can be read. */
async function registryOf(service: RedfishService, bios: Resource): Promise<readonly Fields[] | null> {
  const name = textOf(bios.fields.AttributeRegistry);
  const { registries } = await service.root();
  if (name === '' || registries === null) return null;
  const stem = (text: string) => text.replace(/\.v?\d.*$/, '');
  const paths = await service.members(registries);
  const path = paths.find((each) => {
    const id = each.split('/').pop() ?? '';
    return id === name || stem(id) === stem(name);
  });
  const file = path === undefined ? null : await service.find(path);
  const places = listOf(file?.fields.Location);
  const place = places.find(({ Language: language }) => textOf(language).startsWith('en')) ?? places[0];
  const uri = linkOf({ '@odata.id': place?.Uri });
  const registry = uri === null ? null : await service.find(uri);
  const attributes = fieldsOf(registry?.fields.RegistryEntries).Attributes;
  return Array.isArray(attributes) ? attributes.map(fieldsOf) : null;
}

function checkAllowed(
  { where }: RedfishService,
  registry: readonly Fields[] | null,
  request: BiosRequest,
): void {
  const problems = Object.entries(request).flatMap(([name, value]) => {
    const entry = registry?.find(({ AttributeName: each }) => each === name);
    const problem = entry ? problemOf(entry, value) : null;
    return problem === null ? [] : [`${name} ${problem}`];
  });
  if (problems.length > 0) throw refused(where, problems.join('; '));
}

function problemOf(entry: Fields, value: BiosValue): string | null {
  if (entry.Type === 'Password') return 'is a password, which a plan can not have';
  if (entry.ReadOnly === true || entry.Immutable === true) return 'can not be changed';
  if (entry.Type === 'Enumeration') {
    const allowed = listOf(entry.Value).flatMap((each) => textsOf([each.ValueName, each.ValueDisplayName]));
    if (allowed.length === 0 || allowed.includes(String(value))) return null;
    return `can not be ${shown(value)}; it can be ${[...new Set(allowed)].slice(0, MAX_LISTED).join(', ')}`;
  }
  if (entry.Type !== 'Integer') return null;
  const [least, most] = [entry.LowerBound, entry.UpperBound].map(Number);
  const isInside =
    Number.isInteger(Number(value)) && !(Number(value) < (least ?? 0)) && !(Number(value) > (most ?? 0));
  return isInside ? null : `can not be ${shown(value)}; it is a whole number from ${least} to ${most}`;
}

/** A plan may write a number or a truth value as a text. */
function isSame(found: unknown, wanted: BiosValue): boolean {
  return found !== undefined && found !== null && String(found) === String(wanted);
}

function asTypeOf(found: unknown, wanted: BiosValue): BiosValue {
  if (typeof found === 'string') return String(wanted);
  if (typeof found === 'number' && Number.isFinite(Number(wanted))) return Number(wanted);
  if (typeof found === 'boolean' && /^(?:true|false)$/.test(String(wanted))) return String(wanted) === 'true';
  return wanted;
}

function shown(value: unknown): string {
  return value === undefined || value === null || value === '' ? '(empty)' : String(value);
}

function count(request: BiosRequest): string {
  const names = Object.keys(request);
  return names.length > 3
    ? `${names.length} attributes are`
    : `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'}`;
}

function refused(where: string, problem: string): StepFailure {
  return new StepFailure({
    class: 'permanent',
    code: 'SETTINGS_REFUSED',
    message: `the BIOS settings of the BMC ${where} can not be as wanted: ${problem}`,
  });
}
