/**
 * The fields by which machines are put into groups: for waves, for limits and for budgets. They are what operators write, so
 * that no machine changes its group because it is worked on.
 */
import { invalidField } from '../../error/fault.ts';
import { checkLabelName } from '../../machine/machine-input.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS } from '../../machine/spec/spec-field.ts';

const LABEL = 'labels.';

/** Short names that people use, and the fields that they mean. */
const SHORT: Readonly<Record<string, string>> = {
  rack: 'effective_rack',
  site: 'location.site',
  customer: 'customer_id',
};

const GROUP_FIELDS: readonly string[] = [
  'pool',
  'effective_rack',
  ...SPEC_FIELD_NAMES.filter((name) => SPEC_FIELDS[name].inLists === 'counted'),
];

/** The field that the text names. */
export function checkGroupField(text: string, field: string): string {
  const written = text.trim().replace(/^spec\./, '');
  if (written.startsWith(LABEL)) return `${LABEL}${checkLabelName(written.slice(LABEL.length), field)}`;
  const name = Object.hasOwn(SHORT, written) ? (SHORT[written] ?? written) : written;
  if (GROUP_FIELDS.includes(name)) return name;
  throw invalidField(
    field,
    `${JSON.stringify(text.slice(0, 80))} is none of ${GROUP_FIELDS.join(', ')}, labels.<name>`,
  );
}
