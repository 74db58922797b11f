/**
 * Machines by values of which there are too many for cells: racks, in the fleet and within one customer, site, pool or provider, and the
 * values of each label. Each is a list of values with their numbers, kept as cells are: deltas, folds, a check. Only what writes a spec, labels
 * or a pool appends deltas. The lists of a delta are those of `ingot_values_of` (migration 0109), the same for every version of the server.
 */
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';

export interface ValueCount {
  readonly value: string;
  readonly machines: number;
}

/** What racks are also counted within, by the attribute that a filter or scope names. */
const WITHIN: Readonly<Record<string, string>> = {
  'spec.provider': 'provider',
  'spec.customer_id': 'customer_id',
  'spec.location.site': 'location.site',
  pool: 'pool',
};

/** The list of racks of the machines that all filters match; null: there is none. */
export function listOfRacks(filters: readonly (CheckedFilter<Machine> | null)[]): string | null {
  const lists = new Set(
    filters.flatMap((filter) => (filter === null ? [] : termsOf(filter))).map(listWithin),
  );
  const [only = 'rack', ...others] = lists;
  return others.length > 0 ? null : only;
}

function termsOf(filter: CheckedFilter<Machine>): readonly CheckedFilter<Machine>[] {
  return filter.kind === 'and' ? filter.terms.flatMap(termsOf) : [filter];
}

function listWithin(term: CheckedFilter<Machine>): string | null {
  if (term.kind !== 'string' || term.test.kind !== 'compare' || term.test.order !== '=') return null;
  const { attribute } = term.field;
  return Object.hasOwn(WITHIN, attribute) ? `rack ${WITHIN[attribute]}=${term.test.text}` : null;
}

/** Over the columns list and value. */
export const KEY_OF_VALUE = `sha256(convert_to(list, 'UTF8') || '\\x00'::bytea || convert_to(value, 'UTF8'))`;

const CHANGED = `SELECT v.list, v.value, sum(d.machines) AS machines
  FROM machine_value_deltas d CROSS JOIN LATERAL ingot_values_of(d) v`;

/**
 * The values with the most machines. Those that deltas name are looked up; of the others the largest are, by their index,
 * as many as could be shown if every value with deltas were among them.
 */
const LARGEST = `
  WITH changed AS MATERIALIZED (
    SELECT value, machines, ${KEY_OF_VALUE} AS key FROM (${CHANGED} WHERE v.list = $1 GROUP BY 1, 2) AS c),
  others AS (
    SELECT value, machines, key FROM machine_values WHERE list = $1
    ORDER BY machines DESC, left(value, 200) LIMIT $2 + (SELECT count(*) FROM changed))
  SELECT value, machines::bigint AS machines FROM (
    SELECT value, machines FROM others WHERE key NOT IN (SELECT key FROM changed)
    UNION ALL
    SELECT d.value, d.machines + coalesce(c.machines, 0) FROM changed d LEFT JOIN machine_values c USING (key)) AS counted
  WHERE machines <> 0 ORDER BY machines DESC, value COLLATE "C" LIMIT $2`;

export function largestValues(session: Session, list: string, most: number): Promise<ValueCount[]> {
  return session.run<ValueCount & Record<string, unknown>>('largest-values', LARGEST, [list, most]);
}

const HAVING_LABEL = `
  SELECT (coalesce((SELECT machines FROM machine_values
      WHERE key = (SELECT ${KEY_OF_VALUE} FROM (VALUES ('labels', $1::text)) AS of(list, value))), 0)
    + coalesce((SELECT sum(d.machines) FROM machine_value_deltas d CROSS JOIN LATERAL ingot_values_of(d) v
      WHERE v.list = 'labels' AND v.value = $1), 0))::bigint AS machines`;

/** Of `total` machines; the empty value counts those without the label. */
export async function largestLabelValues(
  session: Session,
  label: string,
  { most, total }: { readonly most: number; readonly total: number },
): Promise<ValueCount[]> {
  const values = await largestValues(session, `labels.${label}`, most);
  const [having] = await session.run<{ machines: number }>('having-label', HAVING_LABEL, [label]);
  const without = total - (having?.machines ?? 0);
  const all = without === 0 ? values : [...values, { value: '', machines: without }];
  // A stable sort leaves the values in their order; the empty one is before others of its size.
  return all
    .sort(
      (left, right) =>
        right.machines - left.machines || Number(right.value === '') - Number(left.value === ''),
    )
    .slice(0, most);
}
