/**
 * The fields of a spec, each once: the path that update masks, filters and faults name it by, what consoles and the command
 * line call it, and what may be done with it. A field of a message inside the spec has a path with a dot.
 */
import type { MachineSpec } from './machine.ts';

interface SpecField {
  readonly title: string;
  /** What may be in it, for the one who types it. */
  readonly hint: string;
  /** The option of the command line that sets it. */
  readonly flag: string;
  /** A filter names it without the prefix `spec.` too. */
  readonly filter: 'bare' | 'prefixed';
  /** Machines can be counted and ordered by it. */
  readonly counted: 'yes' | 'no';
  /** Steps of an operation read it, one after the other, so it stays as it is while one is active. */
  readonly underOperation: 'fixed' | 'free';
  /** Of plain text: how long it may be. The others have rules of their own. */
  readonly maxLength?: number;
}

export const SPEC_FIELDS = {
  ssh_endpoint: {
    title: 'SSH endpoint',
    hint: 'host, host:port or [IPv6]:port',
    flag: '--ssh-endpoint <host:port>',
    filter: 'prefixed',
    counted: 'no',
    underOperation: 'fixed',
  },
  bmc_endpoint: {
    title: 'BMC endpoint',
    hint: 'host, host:port or an http(s) URL, never with credentials',
    flag: '--bmc-endpoint <host:port>',
    filter: 'prefixed',
    counted: 'no',
    underOperation: 'fixed',
  },
  target_cluster_ref: {
    title: 'Target cluster',
    hint: 'the Kubernetes cluster that it joins',
    flag: '--cluster <ref>',
    filter: 'prefixed',
    counted: 'no',
    underOperation: 'fixed',
  },
  mac_addresses: {
    title: 'MAC addresses',
    hint: 'with commas or spaces between them',
    flag: '--mac <address>',
    filter: 'prefixed',
    counted: 'no',
    underOperation: 'fixed',
  },
  provider: {
    title: 'Provider',
    hint: 'a provider of the server’s configuration',
    flag: '--provider <name>',
    filter: 'bare',
    counted: 'yes',
    underOperation: 'fixed',
  },
  customer_id: {
    title: 'Customer',
    hint: 'the customer that it serves',
    flag: '--customer-id <id>',
    filter: 'bare',
    counted: 'yes',
    underOperation: 'free',
    maxLength: 128,
  },
  serial: {
    title: 'Serial number',
    hint: 'as printed on the machine',
    flag: '--serial <number>',
    filter: 'bare',
    counted: 'no',
    underOperation: 'free',
    maxLength: 128,
  },
  'location.site': {
    title: 'Site',
    hint: 'the datacenter that it stands in',
    flag: '--site <name>',
    filter: 'bare',
    counted: 'yes',
    underOperation: 'free',
    maxLength: 64,
  },
  'location.row': {
    title: 'Row',
    hint: 'the row of racks',
    flag: '--row <name>',
    filter: 'bare',
    counted: 'yes',
    underOperation: 'free',
    maxLength: 64,
  },
  'location.rack': {
    title: 'Rack',
    hint: 'the rack',
    flag: '--rack <name>',
    filter: 'bare',
    counted: 'yes',
    underOperation: 'free',
    maxLength: 64,
  },
  'location.unit': {
    title: 'Unit',
    hint: 'where in the rack, such as U14',
    flag: '--unit <name>',
    filter: 'bare',
    counted: 'no',
    underOperation: 'free',
    maxLength: 64,
  },
} as const satisfies Record<string, SpecField>;

export type SpecFieldName = keyof typeof SPEC_FIELDS;
export type TextFieldName = Exclude<SpecFieldName, 'mac_addresses'>;

export const SPEC_FIELD_NAMES = Object.keys(SPEC_FIELDS) as SpecFieldName[];
export const TEXT_FIELD_NAMES = SPEC_FIELD_NAMES.filter(
  (name): name is TextFieldName => name !== 'mac_addresses',
);

export type SpecValue = string | readonly string[];

export function textOfField(spec: MachineSpec, name: TextFieldName): string {
  return String(specValue(spec, name));
}

export function specValue(spec: MachineSpec, name: SpecFieldName): SpecValue {
  const [key, part] = partsOf(name);
  if (key !== 'location') return spec[key];
  return spec.location[part];
}

export function withSpecValue(spec: MachineSpec, name: SpecFieldName, value: SpecValue): MachineSpec {
  const [key, part] = partsOf(name);
  if (key !== 'location') return { ...spec, [key]: value };
  return { ...spec, location: { ...spec.location, [part]: value } };
}

type LocationPart = keyof MachineSpec['location'];
type Parts =
  | readonly [key: Exclude<keyof MachineSpec, 'location'>]
  | readonly [key: 'location', part: LocationPart];

function partsOf(name: SpecFieldName): Parts {
  return name.split('.') as unknown as Parts;
}

/** Where the machine stands, from the largest place to the smallest; empty when nothing is known. */
export function locationText({ site, row, rack, unit }: MachineSpec['location']): string {
  return [site, row, rack, unit].filter((part) => part !== '').join(' / ');
}

/** The rack of its location, or else that of its label. */
export function rackOf(machine: {
  readonly spec: Pick<MachineSpec, 'location'>;
  readonly labels: Readonly<Record<string, string>>;
}): string {
  return machine.spec.location.rack || (Object.hasOwn(machine.labels, 'rack') && machine.labels.rack) || '';
}
