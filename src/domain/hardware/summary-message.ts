/** The summary of a machine's hardware in the message of the API, by the names of HARDWARE_FIELDS. */
import {
  HARDWARE_FIELD_NAMES,
  HARDWARE_FIELDS,
  type HardwareField,
  type HardwareSummary,
} from './hardware-summary.ts';

/** As protobuf's messages name a field. */
type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** Sizes are 64 bits wide there. */
const WIDE: ReadonlySet<HardwareField> = new Set(['memory_gib', 'drive_gib']);

export type SummaryFields = {
  [Field in HardwareField as CamelCase<Field>]?: Field extends 'memory_gib' | 'drive_gib'
    ? bigint
    : NonNullable<HardwareSummary[Field]>;
};

function messageName(field: HardwareField): string {
  return field.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
}

export function messageOfSummary(summary: HardwareSummary): SummaryFields {
  return Object.fromEntries(
    HARDWARE_FIELD_NAMES.flatMap((field) => {
      const value = summary[field];
      if (value === undefined) return [];
      return [[messageName(field), WIDE.has(field) ? BigInt(value) : value]];
    }),
  );
}

/** Null: the message has none. */
export function summaryOfMessage(
  message: { readonly [Field in keyof SummaryFields]?: SummaryFields[Field] | undefined } | undefined,
): HardwareSummary | null {
  if (message === undefined) return null;
  const given = message as Readonly<Record<string, string | number | bigint | undefined>>;
  return Object.fromEntries(
    HARDWARE_FIELD_NAMES.flatMap((field) => {
      const value = given[messageName(field)];
      if (value === undefined || value === '') return [];
      return [[field, HARDWARE_FIELDS[field].kind === 'number' ? Number(value) : value]];
    }),
  );
}
