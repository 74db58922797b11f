/** Fields of a machine's spec in SQL. Indexes have the same expressions, so that they serve filters and counts. */
import { SPEC_FIELD_NAMES, SPEC_FIELDS, type SpecFieldName } from '../../domain/machine/spec/spec-field.ts';
import { keysOf } from '../../domain/machine/spec/spec-value.ts';

/** Text is null where it is empty, or where the row is older than the field. */
export function specColumn(name: SpecFieldName): string {
  const [key, part] = keysOf(name);
  const [holder, last] = part === undefined ? ['spec', key] : [`(spec -> '${key}')`, part];
  if (SPEC_FIELDS[name].type === 'list')
    return `ARRAY(SELECT jsonb_array_elements_text(${holder} -> '${last}'))`;
  // Every machine has a provider, so its index has the plain expression.
  return name === 'provider' ? `(spec ->> 'provider')` : `nullif(${holder} ->> '${last}', '')`;
}

/** The same rule as rackOf. */
export const RACK_COLUMN = `coalesce(${specColumn('location.rack')}, nullif(labels ->> 'rack', ''))`;

/** What machines can be counted by, and what lists of machines can be sorted by besides. */
export const COUNTED_SPEC_COLUMNS = columnsInLists('counted');
export const SORTED_SPEC_COLUMNS = columnsInLists('sorted');

function columnsInLists(use: 'counted' | 'sorted'): Readonly<Record<string, string>> {
  const names = SPEC_FIELD_NAMES.filter((name) => SPEC_FIELDS[name].inLists === use);
  return Object.fromEntries(names.map((name) => [name, specColumn(name)]));
}
