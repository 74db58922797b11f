/**
 * The fields of a machine's spec. One row holds everything that Ingot knows of a field: types, checks, update masks,
 * filters, counts, flags of the command line, the console's editor and columns, and the messages of both APIs are
 * made from it. CONTRIBUTING.md ("A field of the spec") says how to add one.
 *
 * The key is the path that update masks, filters and errors name the field by. A dot means a field of a nested message,
 * whose own row is in SPEC_GROUPS.
 */
import {
  checkBmcEndpoint,
  checkCluster,
  checkCredentialsRef,
  checkEndpoint,
  checkFingerprint,
  checkMacs,
  checkProvider,
  macSpelling,
  type SpecContext,
  textUpTo,
} from './spec-check.ts';

export type SpecField = TextField | ListField;

interface TextField extends FieldRow {
  readonly type: 'text';
  /** Returns the value as it is stored, or throws a fault that names the path. */
  readonly check: (text: string, path: string, context: SpecContext) => string;
}

interface ListField extends FieldRow {
  readonly type: 'list';
  readonly check: (items: readonly string[], path: string, context: SpecContext) => readonly string[];
  /** The one spelling of an item: items with the same spelling are the same. */
  readonly spelling: (item: string) => string;
}

interface FieldRow {
  readonly title: string;
  /** What belongs in it, for the operator who types it. */
  readonly description: string;
  /** `fixed`: steps of an operation read it one after the other, so no request changes it while one is active. */
  readonly whileOperationRuns: 'fixed' | 'free';
  /** `short`: filters name it with and without the prefix `spec.`. */
  readonly filter: 'short' | 'prefixed';
  /** Whether lists of machines can be sorted by it, and whether machines can be counted by its values as well. */
  readonly inLists: 'counted' | 'sorted' | 'no';
  /** The option of the command line that sets it. */
  readonly flag: string;
  /** `shared`: several machines may have the same value, so `ingot import` can set it on all that it registers. */
  readonly values: 'shared' | 'own';
  readonly shown: ShownIn;
  readonly proto: ProtoNumbers;
}

/** Where a list of machines shows it. The page of a single machine and `ingot show` show every field. */
export interface ShownIn {
  /** Its heading in `ingot list -o wide`. */
  readonly wideColumn?: string;
  /** Its column in the console's list, in pixels. */
  readonly listColumn?: { readonly width: number; readonly first: 'shown' | 'hidden' };
  /** The console offers its values beside the list. */
  readonly facet?: 'yes';
}

/** The field's number in the MachineSpec message of each API, or in the nested message. */
interface ProtoNumbers {
  readonly v1: number;
  readonly v2: number;
}

export const SPEC_FIELDS = {
  provider: {
    type: 'text',
    title: 'Provider',
    description:
      'a provider of the server\'s configuration (default: the one that the label "provider" names, or the default provider)',
    check: checkProvider,
    whileOperationRuns: 'fixed',
    filter: 'short',
    inLists: 'counted',
    flag: '--provider <name>',
    values: 'shared',
    shown: { wideColumn: 'PROVIDER', listColumn: { width: 68, first: 'shown' }, facet: 'yes' },
    proto: { v1: 20, v2: 20 },
  },
  customer_id: {
    type: 'text',
    title: 'Customer',
    description: 'the customer that it serves',
    check: textUpTo(128),
    whileOperationRuns: 'free',
    filter: 'short',
    inLists: 'counted',
    flag: '--customer-id <id>',
    values: 'shared',
    shown: { wideColumn: 'CUSTOMER', listColumn: { width: 120, first: 'hidden' }, facet: 'yes' },
    proto: { v1: 21, v2: 21 },
  },
  'location.site': {
    type: 'text',
    title: 'Site',
    description: 'the datacenter that it is in',
    check: textUpTo(64),
    whileOperationRuns: 'free',
    filter: 'short',
    inLists: 'counted',
    flag: '--site <name>',
    values: 'shared',
    shown: { facet: 'yes' },
    proto: { v1: 1, v2: 1 },
  },
  'location.row': {
    type: 'text',
    title: 'Row',
    description: 'the row of racks',
    check: textUpTo(64),
    whileOperationRuns: 'free',
    filter: 'short',
    inLists: 'counted',
    flag: '--row <name>',
    values: 'shared',
    shown: {},
    proto: { v1: 2, v2: 2 },
  },
  'location.rack': {
    type: 'text',
    title: 'Rack',
    description: 'the rack',
    check: textUpTo(64),
    whileOperationRuns: 'free',
    filter: 'short',
    inLists: 'counted',
    flag: '--rack <name>',
    values: 'shared',
    shown: {},
    proto: { v1: 3, v2: 3 },
  },
  'location.unit': {
    type: 'text',
    title: 'Unit',
    description: 'its place in the rack, such as U14',
    check: textUpTo(64),
    whileOperationRuns: 'free',
    filter: 'short',
    inLists: 'no',
    flag: '--unit <name>',
    values: 'own',
    shown: {},
    proto: { v1: 4, v2: 4 },
  },
  serial: {
    type: 'text',
    title: 'Serial number',
    description: 'the serial number that is printed on the machine',
    check: textUpTo(128),
    whileOperationRuns: 'free',
    filter: 'short',
    inLists: 'sorted',
    flag: '--serial <number>',
    values: 'own',
    shown: { wideColumn: 'SERIAL', listColumn: { width: 140, first: 'hidden' } },
    proto: { v1: 22, v2: 22 },
  },
  ssh_endpoint: {
    type: 'text',
    title: 'SSH endpoint',
    description: 'where SSH answers: host, host:port or [IPv6]:port',
    check: checkEndpoint,
    whileOperationRuns: 'fixed',
    filter: 'prefixed',
    inLists: 'no',
    flag: '--ssh-endpoint <host:port>',
    values: 'own',
    shown: { wideColumn: 'SSH_ENDPOINT' },
    proto: { v1: 1, v2: 1 },
  },
  ssh_credentials_ref: {
    type: 'text',
    title: 'SSH credentials',
    description: 'the source in the configuration that has its SSH key (default: that of its provider)',
    check: checkCredentialsRef,
    whileOperationRuns: 'fixed',
    filter: 'prefixed',
    inLists: 'no',
    flag: '--ssh-credentials-ref <name>',
    values: 'shared',
    shown: {},
    proto: { v1: 24, v2: 24 },
  },
  bmc_endpoint: {
    type: 'text',
    title: 'BMC endpoint',
    description: 'where the BMC answers: host, host:port or an http(s) URL, never with credentials',
    check: checkBmcEndpoint,
    whileOperationRuns: 'fixed',
    filter: 'prefixed',
    inLists: 'no',
    flag: '--bmc-endpoint <host:port>',
    values: 'own',
    shown: {},
    proto: { v1: 2, v2: 2 },
  },
  bmc_certificate_sha256: {
    type: 'text',
    title: 'BMC certificate',
    description:
      'the SHA-256 of the only certificate that its BMC may have (default: it is verified by an authority)',
    check: checkFingerprint,
    whileOperationRuns: 'fixed',
    filter: 'prefixed',
    inLists: 'no',
    flag: '--bmc-certificate-sha256 <hex>',
    values: 'own',
    shown: {},
    proto: { v1: 26, v2: 26 },
  },
  bmc_credentials_ref: {
    type: 'text',
    title: 'BMC credentials',
    description:
      'the source in the configuration that has the login of its BMC (default: that of its provider)',
    check: checkCredentialsRef,
    whileOperationRuns: 'fixed',
    filter: 'prefixed',
    inLists: 'no',
    flag: '--bmc-credentials-ref <name>',
    values: 'shared',
    shown: {},
    proto: { v1: 25, v2: 25 },
  },
  target_cluster_ref: {
    type: 'text',
    title: 'Target cluster',
    description: 'the Kubernetes cluster that it joins',
    check: checkCluster,
    whileOperationRuns: 'fixed',
    filter: 'prefixed',
    inLists: 'no',
    flag: '--cluster <ref>',
    values: 'shared',
    shown: {},
    proto: { v1: 3, v2: 3 },
  },
  mac_addresses: {
    type: 'list',
    title: 'MAC addresses',
    description: 'the MAC addresses of its network ports',
    check: checkMacs,
    spelling: macSpelling,
    whileOperationRuns: 'fixed',
    filter: 'prefixed',
    inLists: 'no',
    flag: '--mac <address>',
    values: 'own',
    shown: {},
    proto: { v1: 4, v2: 4 },
  },
} as const satisfies Record<string, SpecField>;

/** Nested messages of the spec. A list of machines shows each in one column, its fields from the first to the last. */
export const SPEC_GROUPS = {
  location: {
    title: 'Location',
    inLists: 'no',
    shown: { wideColumn: 'LOCATION', listColumn: { width: 120, first: 'shown' } },
    proto: { v1: 23, v2: 23 },
  },
} as const satisfies Record<GroupOf<SpecFieldName>, Pick<FieldRow, 'title' | 'inLists' | 'shown' | 'proto'>>;

type SpecFields = typeof SPEC_FIELDS;
export type SpecFieldName = keyof SpecFields;
export type SpecGroupName = keyof typeof SPEC_GROUPS;
/** The names of the rows that have these values. */
export type NameWith<Values> = {
  [Name in SpecFieldName]: SpecFields[Name] extends Values ? Name : never;
}[SpecFieldName];

/** `location` of `location.rack`; never, where the name has no dot. */
export type GroupOf<Name extends string> = Name extends `${infer Group}.${string}` ? Group : never;
/** `rack` of `location.rack`. */
type PartOf<Name extends string, Group extends string> = Name extends `${Group}.${infer Part}` ? Part : never;
export type SingleName<Name extends string> = Name extends `${string}.${string}` ? never : Name;

interface ValueOfType {
  readonly text: string;
  readonly list: readonly string[];
}

/** A spec has the value of each row under its key, and those with a dot in an object for their group. */
export type SpecOf<Fields extends Record<string, { readonly type: keyof ValueOfType }>> = {
  readonly [Name in keyof Fields & string as SingleName<Name>]: ValueOfType[Fields[Name]['type']];
} & {
  readonly [Name in keyof Fields & string as GroupOf<Name>]: {
    readonly [Inner in keyof Fields & string as PartOf<
      Inner,
      GroupOf<Name>
    >]: ValueOfType[Fields[Inner]['type']];
  };
};

export const SPEC_FIELD_NAMES = Object.keys(SPEC_FIELDS) as SpecFieldName[];
export const SPEC_GROUP_NAMES = Object.keys(SPEC_GROUPS) as SpecGroupName[];
