/** A spec in its other shapes: the message of both APIs, and the stored JSON. */
import type { MachineSpec } from '../machine.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS, SPEC_GROUP_NAMES, type SpecGroupName } from './spec-field.ts';
import { keysOf, type SpecValue, withSpecValue } from './spec-value.ts';

const EMPTY_VALUES = { text: '', list: [] } as const satisfies Record<string, SpecValue>;

export const EMPTY_SPEC: MachineSpec = SPEC_FIELD_NAMES.reduce(
  (spec, name) => withSpecValue(spec, name, EMPTY_VALUES[SPEC_FIELDS[name].type]),
  {} as MachineSpec,
);

/** `customerId` of `customer_id`, as generated code spells it. */
type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

type InMessage<Fields> = {
  -readonly [Name in keyof Fields & string as CamelCase<Name>]: Fields[Name] extends readonly string[]
    ? string[]
    : Fields[Name];
};
type SingleFields = InMessage<Omit<MachineSpec, SpecGroupName>>;
type GroupFields<Group extends SpecGroupName> = InMessage<MachineSpec[Group]>;

/**
 * A spec as a client sends it, in either API. It has a property for each row of SPEC_FIELDS, so a row that a proto lacks
 * does not compile where messages of that proto are read.
 */
export type SpecMessage = Readonly<SingleFields> & {
  readonly [Group in SpecGroupName as CamelCase<Group>]?: Readonly<GroupFields<Group>> | undefined;
};

/** A spec as an answer has it. A group of which nothing is known is left out. */
type SpecInit = SingleFields & { [Group in SpecGroupName as CamelCase<Group>]?: GroupFields<Group> };

type Nested = Record<string, SpecValue | Record<string, SpecValue> | undefined>;

const camelCase = (name: string) =>
  name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());

const MESSAGE_FIELDS = SPEC_FIELD_NAMES.map((name) => {
  const [key, part = ''] = keysOf(name);
  return {
    name,
    group: part === '' ? null : (key as SpecGroupName),
    /** As the spec has it, where the message has `key` or `part`. */
    stored: part === '' ? key : part,
    key: camelCase(key),
    part: camelCase(part),
  };
});

export function specOfMessage(message: SpecMessage | undefined): MachineSpec {
  if (message === undefined) return EMPTY_SPEC;
  const values = message as Nested;
  return MESSAGE_FIELDS.reduce((spec, { name, group, key, part }) => {
    const value = group === null ? values[key] : (values[key] as Nested | undefined)?.[part];
    return value === undefined ? spec : withSpecValue(spec, name, value as SpecValue);
  }, EMPTY_SPEC);
}

/** The fields of each group, and those of none: every machine of a page passes here. */
const SINGLE_FIELDS = MESSAGE_FIELDS.filter(({ group }) => group === null);
const GROUPS = SPEC_GROUP_NAMES.map((group) => ({
  group,
  key: camelCase(group),
  fields: MESSAGE_FIELDS.filter((field) => field.group === group),
}));

type Values = Readonly<Record<string, SpecValue>>;

export function messageOfSpec(spec: MachineSpec): SpecInit {
  const values: Values = spec as unknown as Values;
  const message: Nested = {};
  for (const { stored, key } of SINGLE_FIELDS) message[key] = copied(values[stored] as SpecValue);
  for (const { group, key, fields } of GROUPS) {
    const grouped = spec[group] as Values;
    if (fields.every(({ stored }) => grouped[stored]?.length === 0)) continue;
    const parts: Record<string, SpecValue> = {};
    for (const { stored, part } of fields) parts[part] = copied(grouped[stored] as SpecValue);
    message[key] = parts;
  }
  return message as SpecInit;
}

function copied(value: SpecValue): SpecValue {
  return typeof value === 'string' ? value : [...value];
}

/** A row that was written before a field existed has it empty. Fields that only a newer version knows are kept. */
export function specOfRow(stored: Partial<MachineSpec>): MachineSpec {
  const groups = SPEC_GROUP_NAMES.map(
    (group) => [group, { ...EMPTY_SPEC[group], ...stored[group] }] as const,
  );
  return { ...EMPTY_SPEC, ...stored, ...Object.fromEntries(groups) };
}
