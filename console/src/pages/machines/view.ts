import { HARDWARE_FIELD_NAMES, HARDWARE_FIELDS } from '../../../../src/domain/hardware/hardware-summary.ts';
import { SPEC_LINES } from '../../../../src/domain/machine/spec/spec-value.ts';

/** The state of the page in its URL. */
export interface Sort {
  /** A field that the server can order by. */
  readonly field: string;
  readonly direction: 'ascending' | 'descending';
}

export interface View {
  readonly filter: string;
  readonly sort: Sort;
  readonly columns: readonly string[];
  readonly facets: 'shown' | 'hidden';
  /** The field that the list is grouped by; empty: none. */
  readonly group: string;
}

interface ColumnFacts {
  readonly title: string;
  /** The field that the server sorts it by; empty: it cannot be sorted. */
  readonly order: string;
  readonly width: number;
  /** Whether it is shown by default. */
  readonly first: 'shown' | 'hidden';
}

const STATE_COLUMNS = {
  machine_id: { title: 'Machine', order: 'machine_id', width: 120, first: 'shown' },
  headline: { title: 'State', order: 'tone', width: 195, first: 'shown' },
  doing: { title: 'Doing now', order: '', width: 156, first: 'shown' },
  effective_state: { title: 'Effective state', order: 'effective_state', width: 150, first: 'hidden' },
  phase: { title: 'Phase', order: 'phase', width: 164, first: 'hidden' },
  service: { title: 'Service', order: 'service', width: 138, first: 'hidden' },
  install: { title: 'Install', order: 'install', width: 128, first: 'hidden' },
  presence: { title: 'Presence', order: 'presence', width: 110, first: 'hidden' },
} as const satisfies Record<string, ColumnFacts>;

/** The spec fields that SPEC_FIELDS shows in lists. */
const SPEC_COLUMNS: Readonly<Record<string, ColumnFacts>> = Object.fromEntries(
  SPEC_LINES.flatMap(({ key, title, shown: { listColumn }, inLists }) =>
    listColumn ? [[key, { ...listColumn, title, order: inLists === 'no' ? '' : key }]] : [],
  ),
);

const OTHER_COLUMNS = {
  effective_rack: { title: 'Rack', order: 'effective_rack', width: 90, first: 'hidden' },
  pool: { title: 'Pool', order: 'pool', width: 100, first: 'hidden' },
  schedulable: { title: 'Schedulable', order: 'schedulable', width: 140, first: 'hidden' },
  available: { title: 'Available', order: 'available', width: 140, first: 'hidden' },
  operation: { title: 'Operation', order: '', width: 150, first: 'hidden' },
  conditions: { title: 'Conditions', order: '', width: 147, first: 'shown' },
  effective_since: { title: 'In state', order: 'effective_since', width: 62, first: 'shown' },
  last_keepalive: { title: 'Last contact', order: '', width: 90, first: 'shown' },
  labels: { title: 'Labels', order: '', width: 320, first: 'hidden' },
} as const satisfies Record<string, ColumnFacts>;

/** Each value of the hardware that lists have, and how much trouble the machine was. */
const HARDWARE_COLUMNS: Readonly<Record<string, ColumnFacts>> = {
  'hardware.lemon_score': {
    title: 'Lemon score',
    order: 'hardware.lemon_score',
    width: 92,
    first: 'hidden',
  },
  ...Object.fromEntries(
    HARDWARE_FIELD_NAMES.map((field): [string, ColumnFacts] => {
      const { filter, kind, title } = HARDWARE_FIELDS[field];
      return [filter, { title, order: filter, width: kind === 'number' ? 84 : 150, first: 'hidden' }];
    }),
  ),
};

const COLUMNS: Readonly<Record<string, ColumnFacts>> = {
  ...STATE_COLUMNS,
  ...SPEC_COLUMNS,
  ...OTHER_COLUMNS,
  ...HARDWARE_COLUMNS,
};

/** The columns that are not fields of the spec. */
export type StatusColumnId = keyof typeof STATE_COLUMNS | keyof typeof OTHER_COLUMNS;
export const COLUMN_IDS: readonly string[] = Object.keys(COLUMNS);
/** The id is always shown. */
export const FIXED_COLUMN = 'machine_id' satisfies StatusColumnId;

export const DEFAULT_COLUMNS: readonly string[] = COLUMN_IDS.filter((id) => COLUMNS[id]?.first === 'shown');
/** Trouble first: from failed to quiet. */
export const DEFAULT_SORT: Sort = { field: 'tone', direction: 'ascending' };

const LABEL = 'labels.';

/** The label that a column shows; null for other columns. */
export function labelOfColumn(id: string): string | null {
  return id.startsWith(LABEL) && id.length > LABEL.length ? id.slice(LABEL.length) : null;
}

export function columnFacts(id: string): Omit<ColumnFacts, 'first'> {
  const known = isColumnId(id) ? COLUMNS[id] : undefined;
  return known ?? { title: labelOfColumn(id) ?? id, order: id, width: 120 };
}

function isColumnId(id: string): boolean {
  return Object.hasOwn(COLUMNS, id);
}

export function readView(params: URLSearchParams): View {
  const sort = params.get('sort') ?? '';
  return {
    filter: params.get('filter') ?? '',
    sort:
      sort === ''
        ? DEFAULT_SORT
        : { field: sort.replace(/^-/, ''), direction: sort.startsWith('-') ? 'descending' : 'ascending' },
    columns: readColumns(params.get('columns')),
    facets: params.get('facets') === 'shown' ? 'shown' : 'hidden',
    group: params.get('group') ?? '',
  };
}

function readColumns(text: string | null): readonly string[] {
  if (text === null) return DEFAULT_COLUMNS;
  const asked = new Set(text.split(','));
  asked.add(FIXED_COLUMN);
  const labels = [...asked].filter((id) => !isColumnId(id) && labelOfColumn(id) !== null);
  return [...COLUMN_IDS.filter((id) => asked.has(id)), ...labels];
}

/** Keeps other parameters of the URL, and leaves out defaults. */
export function writeView(current: URLSearchParams, view: View): URLSearchParams {
  const next = new URLSearchParams(current);
  const values = {
    filter: view.filter,
    sort: isDefaultSort(view.sort)
      ? ''
      : `${view.sort.direction === 'descending' ? '-' : ''}${view.sort.field}`,
    columns: view.columns.join() === DEFAULT_COLUMNS.join() ? '' : view.columns.join(),
    facets: view.facets === 'shown' ? 'shown' : '',
    group: view.group,
  };
  for (const [name, value] of Object.entries(values)) {
    if (value === '') next.delete(name);
    else next.set(name, value);
  }
  return next;
}

function isDefaultSort(sort: Sort): boolean {
  return sort.field === DEFAULT_SORT.field && sort.direction === DEFAULT_SORT.direction;
}

/** A click on a heading: ascending, then descending, then the default order. */
export function nextSort(sort: Sort, field: string): Sort {
  if (sort.field !== field) return { field, direction: 'ascending' };
  if (sort.direction === 'ascending') return { field, direction: 'descending' };
  return field === DEFAULT_SORT.field ? { field, direction: 'ascending' } : DEFAULT_SORT;
}
