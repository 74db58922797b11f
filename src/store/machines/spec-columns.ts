/** Fields of a machine's spec in SQL. Indexes have the very same expressions, so that they serve filters and counts. */
import { SPEC_FIELD_NAMES, SPEC_FIELDS, type TextFieldName } from '../../domain/machine/spec-field.ts';

/** Null where it is empty, or was not known yet when the row was written. */
export function specColumn(name: TextFieldName): string {
  const [key = '', part] = name.split('.');
  // Every machine has a provider, and its index is older than the other fields.
  if (name === 'provider') return `(spec ->> 'provider')`;
  return part === undefined
    ? `nullif(spec ->> '${key}', '')`
    : `nullif((spec -> '${key}') ->> '${part}', '')`;
}

/** As rackOf does it. */
export const RACK_COLUMN = `coalesce(${specColumn('location.rack')}, nullif(labels ->> 'rack', ''))`;

/** What machines can be counted by. */
export const COUNTED_SPEC_COLUMNS: Readonly<Record<string, string>> = Object.fromEntries(
  SPEC_FIELD_NAMES.flatMap((name) =>
    name !== 'mac_addresses' && SPEC_FIELDS[name].counted === 'yes' ? [[name, specColumn(name)]] : [],
  ),
);
