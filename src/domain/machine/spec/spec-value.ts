/** Reads and writes fields of a spec by their names in SPEC_FIELDS. */
import type { MachineSpec } from '../machine.ts';
import {
  type ShownIn,
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  SPEC_GROUPS,
  type SpecFieldName,
  type SpecGroupName,
} from './spec-field.ts';

export type SpecValue = string | readonly string[];

type Keys = readonly [key: string, part?: string];

const KEYS = Object.fromEntries(SPEC_FIELD_NAMES.map((name) => [name, name.split('.')])) as unknown as Record<
  SpecFieldName,
  Keys
>;

/** `location` and `rack` of `location.rack`; a name without a dot has one key. */
export function keysOf(name: SpecFieldName): Keys {
  return KEYS[name];
}

type Values = Readonly<Record<string, SpecValue | Readonly<Record<string, SpecValue>>>>;

export function specValue(spec: MachineSpec, name: SpecFieldName): SpecValue {
  const [key, part] = keysOf(name);
  const value = (spec as Values)[key];
  return (part === undefined ? value : (value as Record<string, SpecValue>)[part]) as SpecValue;
}

/** The same spec where it has that value already: most fields of a registration are empty before and after their checks. */
export function withSpecValue(spec: MachineSpec, name: SpecFieldName, value: SpecValue): MachineSpec {
  const [key, part] = keysOf(name);
  const before = (spec as Values)[key];
  if (part === undefined) return before === value ? spec : { ...spec, [key]: value };
  const group = before as Readonly<Record<string, SpecValue>> | undefined;
  return group?.[part] === value ? spec : { ...spec, [key]: { ...group, [part]: value } };
}

/** For people: items of a list with commas between them. */
export function specText(spec: MachineSpec, name: SpecFieldName): string {
  const value = specValue(spec, name);
  return typeof value === 'string' ? value : value.join(', ');
}

/** The values of a group that are known, with slashes between them: `fra1 / 3 / r11 / U14`. */
function groupText(spec: MachineSpec, group: SpecGroupName): string {
  return SPEC_FIELD_NAMES.filter((name) => keysOf(name)[0] === group)
    .map((name) => specText(spec, name))
    .filter((text) => text !== '')
    .join(' / ');
}

/** A spec as people read it: a field, or a group of fields in one. */
export interface SpecLine {
  readonly key: string;
  readonly title: string;
  readonly shown: ShownIn;
  readonly inLists: 'counted' | 'sorted' | 'no';
  readonly text: (spec: MachineSpec) => string;
}

export const SPEC_LINES: readonly SpecLine[] = SPEC_FIELD_NAMES.flatMap((name, index): SpecLine[] => {
  const [key, part] = keysOf(name);
  if (part === undefined) return [{ ...SPEC_FIELDS[name], key, text: (spec) => specText(spec, name) }];
  const group = key as SpecGroupName;
  const isFirst = SPEC_FIELD_NAMES.findIndex((other) => keysOf(other)[0] === key) === index;
  return isFirst ? [{ ...SPEC_GROUPS[group], key, text: (spec) => groupText(spec, group) }] : [];
});

/** The rack of its location, or else that of its label. */
export function rackOf(machine: {
  readonly spec: Pick<MachineSpec, 'location'>;
  readonly labels: Readonly<Record<string, string>>;
}): string {
  return machine.spec.location.rack || (Object.hasOwn(machine.labels, 'rack') && machine.labels.rack) || '';
}
