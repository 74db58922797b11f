import { checkFilter } from '../../domain/filter/check.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { FilterSchema } from '../../domain/filter/fields.ts';
import { parseFilter } from '../../domain/filter/parse.ts';

/** Null: everything matches. */
export function readFilter<Row>(text: string, schema: FilterSchema<Row>): CheckedFilter<Row> | null {
  return text.trim() === '' ? null : checkFilter(parseFilter(text), schema);
}
