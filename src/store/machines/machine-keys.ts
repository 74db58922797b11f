/**
 * What machines can be counted by and sorted by: closed tables, and any label. The name of a label comes from a
 * request, so it is a parameter.
 */
import { invalidField } from '../../domain/error/fault.ts';
import { HARDWARE_FIELD_NAMES, HARDWARE_FIELDS } from '../../domain/hardware/hardware-summary.ts';
import { checkLabelName } from '../../domain/machine/machine-input.ts';
import { probablyMeant } from '../../domain/nearest.ts';
import { MACHINE_FILTER_COLUMNS as columns } from '../filter/machine-columns.ts';
import { ATTENTION_HEADLINE } from './count-headlines.ts';
import { COUNTED_HARDWARE_COLUMNS, HARDWARE_COLUMNS } from './hardware-columns.ts';
import { TONE_ORDER } from './headline-column.ts';
import { COUNTED_SPEC_COLUMNS, SORTED_SPEC_COLUMNS } from './spec-columns.ts';

const GROUPS = {
  phase: columns.phase,
  effective_state: columns.effective_state,
  service: columns.service,
  install: columns.install,
  presence: columns.presence,
  pool: columns.pool,
  schedulable: `${columns.schedulable}::text`,
  unschedulable_reason: columns.unschedulable_reason,
  available: `${columns.available}::text`,
  unavailable_reason: columns.unavailable_reason,
  effective_rack: columns.effective_rack,
  headline: columns.headline,
  tone: columns.tone,
  needs_attention: `${columns.needs_attention}::text`,
} as const satisfies Record<string, string>;

const COUNTED: Readonly<Record<string, string>> = {
  ...GROUPS,
  ...COUNTED_SPEC_COLUMNS,
  ...COUNTED_HARDWARE_COLUMNS,
  'hardware.lemon_score': 'lemon_score::text',
};

const TIMES = {
  effective_since: 'effective_since',
  created_at: 'created_at',
  updated_at: 'updated_at',
} as const satisfies Record<string, string>;

/** Sorted by their size, and not as texts. */
const HARDWARE_NUMBERS = {
  ...Object.fromEntries(
    HARDWARE_FIELD_NAMES.filter((name) => HARDWARE_FIELDS[name].kind === 'number').map(
      (name) => [HARDWARE_FIELDS[name].filter, HARDWARE_COLUMNS[HARDWARE_FIELDS[name].filter]] as const,
    ),
  ),
  'hardware.lemon_score': columns['hardware.lemon_score'],
};

const LABEL = 'labels.';

/** The SQL expression, and the label's name if it is one, as the parameter with the given number. */
export interface MachineKey {
  readonly name: string;
  readonly column: (parameter: number) => string;
  readonly values: readonly string[];
}

export type GroupName = keyof typeof GROUPS;

/**
 * What the overview counts besides: the types of operations under way, and what needs attention, as one text with its reason, by
 * conditions and by headlines.
 */
const OVERVIEW_KEYS = {
  operation: 'active_operation_type',
  attention: `(${columns.attention} || ' ' || coalesce(${columns.attention_reason}, ''))`,
  attention_headline: ATTENTION_HEADLINE,
} as const satisfies Record<string, string>;

export function overviewKey(name: keyof typeof OVERVIEW_KEYS): MachineKey {
  return { name, column: () => OVERVIEW_KEYS[name], values: [] };
}

export function groupKey(name: string, field: string): MachineKey {
  return labelKey(name, field) ?? knownKey(name, COUNTED) ?? refuse(name, field, Object.keys(COUNTED));
}

export function orderKey(name: string, field: string): MachineKey {
  if (name === '') return orderKey('machine_id', field);
  // With the same collation in every database.
  const texts = Object.entries({ machine_id: 'machine_id', ...COUNTED, ...SORTED_SPEC_COLUMNS });
  const orders = {
    ...Object.fromEntries(texts.map(([key, column]) => [key, `${column} COLLATE "C"`])),
    ...TIMES,
    ...HARDWARE_NUMBERS,
    tone: `${TONE_ORDER} COLLATE "C"`,
  };
  const label = labelKey(name, field);
  if (label) return { ...label, column: (parameter) => `(${label.column(parameter)}) COLLATE "C"` };
  return knownKey(name, orders) ?? refuse(name, field, Object.keys(orders));
}

/** What machines are grouped by, and the order of the groups: machines without a value are the last group. */
export interface GroupOrder {
  readonly key: MachineKey;
  readonly order: (parameter: number) => string;
}

export function groupOrder(name: string, field: string): GroupOrder {
  const key = groupKey(name, field);
  const sorted = orderKey(name, field);
  return {
    key,
    order: (parameter) =>
      `CASE WHEN coalesce(${key.column(parameter)}, '') <> '' THEN ${sorted.column(parameter)} END`,
  };
}

function knownKey(name: string, table: Readonly<Record<string, string>>): MachineKey | null {
  const column = Object.hasOwn(table, name) ? table[name] : undefined;
  return column === undefined ? null : { name, column: () => column, values: [] };
}

function labelKey(name: string, field: string): MachineKey | null {
  if (!name.startsWith(LABEL)) return null;
  const label = checkLabelName(name.slice(LABEL.length), field);
  return { name, column: (parameter) => `labels ->> $${parameter}::text`, values: [label] };
}

/** The name of the label that the key is of; null: of none. */
export function labelOf({ name }: MachineKey): string | null {
  return name.startsWith(LABEL) ? name.slice(LABEL.length) : null;
}

function refuse(name: string, field: string, known: readonly string[]): never {
  const given = name.slice(0, 80);
  const meant = probablyMeant(given, known);
  const question = meant === null ? 'is' : `is not known, did you mean ${meant}? It is`;
  throw invalidField(
    field,
    `${JSON.stringify(given)} ${question} none of ${known.join(', ')}, labels.<name>`,
  );
}
