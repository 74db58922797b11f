/**
 * Counts of machines that do not grow with the fleet: theory of operation.
 *
 * A cell is a combination of everything that machines are usually counted, filtered and scoped by. Machines of one cell are
 * the same to all these questions, so a count over cells is the count over machines, and there are as many cells as the
 * fleet has combinations in use: hundreds or a few thousand, with a thousand machines or with a million.
 *
 * Triggers append to `machine_cell_deltas` what a statement adds to cells and takes from them (migration 0107). These are
 * inserts, so no writer waits for another. Replicas fold them into `machine_cells` (fold-counts.ts). The sum of both in one
 * snapshot is exact at every moment: a change and its delta commit together, and so do both sides of a fold. A check compares
 * the sum with the machines from time to time (check-counts.ts).
 *
 * The relation of cells has the columns of machines that a cell determines, so that filters, scopes and facets have one SQL
 * expression, whichever of the two they read.
 *
 * Time changes one thing that cells determine: maintenance that has an end is over. In cells no maintenance has an end, and machines whose
 * maintenance may be over, a range of an index, are counted once more as they are, and taken off as their cell has them.
 */
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { MachineAttribute } from '../../domain/filter/machine-filter.ts';
import type { Machine } from '../../domain/machine/machine.ts';

const FLAGS = {
  Retired: 'retired',
  RMA: 'rma',
  NeedsIntervention: 'intervention',
  Drained: 'drained',
  InCustomerCluster: 'joined',
} as const;

const isSet = (type: string) => `((conditions -> '${type}' -> 'status') = 'true')`;

/** What decides a headline beside the flags: only this value of each, because a cell for every other one would be one too many. */
const TROUBLES = { Degraded: 'true', Reachable: 'false' } as const;

const isTrouble = (type: keyof typeof TROUBLES) =>
  `nullif((conditions -> '${type}' -> 'status') = '${TROUBLES[type]}', false)`;

/** The columns of a delta, each with its expression over a machine. The triggers of migration 0107 have the same ones. */
export const CELL_OF_MACHINE = {
  phase: 'phase',
  service: 'service',
  install: 'install',
  presence: 'presence',
  pool: 'pool',
  operation: 'active_operation_type',
  busy: '(active_operation_id IS NOT NULL)',
  entered: '(entered_service_at IS NOT NULL)',
  ...Object.fromEntries(Object.entries(FLAGS).map(([type, column]) => [column, isSet(type)])),
  reason: `(CASE WHEN ${isSet('Retired')} THEN conditions -> 'Retired' ->> 'reason'
    WHEN ${isSet('RMA')} THEN conditions -> 'RMA' ->> 'reason'
    WHEN ${isSet('NeedsIntervention')} THEN conditions -> 'NeedsIntervention' ->> 'reason' END)`,
  degraded: isTrouble('Degraded'),
  unreachable: isTrouble('Reachable'),
  upstream: `(CASE WHEN observed ->> 'upstreamId' <> '' AND observed -> 'accepted' IS NULL THEN observed ->> 'state' END)`,
  provider: `(spec ->> 'provider')`,
  customer: `nullif(spec ->> 'customer_id', '')`,
  site: `nullif((spec -> 'location') ->> 'site', '')`,
  hardware_model: `(hardware ->> 'model')`,
  gpu_model: `(hardware ->> 'gpu_model')`,
  memory_gib: `(hardware ->> 'memory_gib')`,
} as Readonly<Record<string, string>>;

export const CELL_COLUMNS = Object.keys(CELL_OF_MACHINE).join(', ');

const flag = (type: keyof typeof FLAGS, reason: string) =>
  `'${type}', CASE WHEN ${FLAGS[type]} IS NOT NULL THEN jsonb_build_object('status', ${FLAGS[type]}, 'reason', ${reason}) END`;

/** The columns of machines that a delta determines, in the order of `machine_cells`. */
export const AS_MACHINE = `phase, service, install, presence, pool,
  CASE WHEN coalesce(retired, rma, intervention, drained, joined, degraded, unreachable) IS NULL THEN '{}' ELSE jsonb_strip_nulls(jsonb_build_object(
    ${flag('Retired', 'CASE WHEN retired THEN reason END')},
    ${flag('RMA', 'CASE WHEN rma AND retired IS NOT TRUE THEN reason END')},
    ${flag('NeedsIntervention', 'CASE WHEN intervention AND retired IS NOT TRUE AND rma IS NOT TRUE THEN reason END')},
    ${flag('Drained', 'NULL')}, ${flag('InCustomerCluster', 'NULL')},
    'Degraded', CASE WHEN degraded THEN '{"status": true}'::jsonb END,
    'Reachable', CASE WHEN unreachable THEN '{"status": false}'::jsonb END)) END AS conditions,
  CASE WHEN busy THEN '-' END AS active_operation_id, operation AS active_operation_type,
  CASE WHEN entered THEN '-infinity'::timestamptz END AS entered_service_at,
  CASE WHEN upstream IS NOT NULL THEN jsonb_build_object('upstreamId', '-', 'state', upstream) END AS observed,
  jsonb_strip_nulls(jsonb_build_object('provider', provider, 'customer_id', customer,
    'location', CASE WHEN site IS NOT NULL THEN jsonb_build_object('site', site) END)) AS spec,
  jsonb_strip_nulls(jsonb_build_object('model', hardware_model, 'gpu_model', gpu_model, 'memory_gib', memory_gib)) AS hardware`;

export const MACHINE_LIKE = `phase, service, install, presence, pool, conditions, active_operation_id, active_operation_type,
  entered_service_at, observed, spec, hardware`;

const NO_END = 'NULL::jsonb AS maintenance';

/** Each row stands for as many machines as its column `machines` says, which may be less than none. */
const CELLS = `SELECT ${MACHINE_LIKE}, ${NO_END}, machines FROM machine_cells
  UNION ALL SELECT ${AS_MACHINE}, ${NO_END}, machines FROM machine_cell_deltas`;

/**
 * Ends are texts of one form, which sort as times do, so an index has them. The second makes sure that none is missing; what is not over is the
 * same with and without its end.
 */
const MAYBE_OVER = `SELECT ${MACHINE_LIKE}, CASE WHEN twice.machines = 1 THEN maintenance END, twice.machines
  FROM machines CROSS JOIN (VALUES (1), (-1)) AS twice(machines)
  WHERE phase = 'MAINTENANCE' AND (maintenance ->> 'until') COLLATE "C"
    <= to_char((now() + interval '1 s') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The relation; with time, also what time changes. */
export function cellsFor(asked: 'states' | 'states and time'): string {
  return asked === 'states' ? `(${CELLS})` : `(${CELLS} UNION ALL ${MAYBE_OVER})`;
}

const CELL_ATTRIBUTES: ReadonlySet<string> = new Set<MachineAttribute>([
  'phase',
  'effective_state',
  'service',
  'install',
  'presence',
  'pool',
  'schedulable',
  'unschedulable_reason',
  'available',
  'unavailable_reason',
  'spec.provider',
  'spec.customer_id',
  'spec.location.site',
  'hardware.model',
  'hardware.gpu.model',
  'hardware.memory_gib',
  'attention',
  'attention_reason',
  'v1_phase',
  'v1_effective_state',
]);

/** What the end of a maintenance changes, as attributes and as keys. */
const CHANGED_BY_TIME = ['headline', 'tone', 'needs_attention', 'maintenance_overdue'] as const;
const TIMED_ATTRIBUTES: ReadonlySet<string> = new Set<MachineAttribute>(CHANGED_BY_TIME);
const TIMED_KEYS: ReadonlySet<string> = new Set([...CHANGED_BY_TIME, 'attention_headline']);

/** What machines can be counted by that a cell determines. */
const CELL_KEYS: ReadonlySet<string> = new Set([
  ...['phase', 'effective_state', 'service', 'install', 'presence', 'pool', 'schedulable', 'available'],
  ...['unschedulable_reason', 'unavailable_reason', 'provider', 'customer_id', 'location.site'],
  ...['hardware.model', 'hardware.gpu.model', 'hardware.memory_gib', 'operation', 'attention'],
]);

export function isCellKey(name: string): boolean {
  return CELL_KEYS.has(name) || TIMED_KEYS.has(name);
}

export function isTimedKey(name: string): boolean {
  return TIMED_KEYS.has(name);
}

/** Whether cells have everything that the filter asks for. */
export function areCellsEnough(filter: CheckedFilter<Machine> | null): boolean {
  if (filter === null) return true;
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.terms.every(areCellsEnough);
    case 'not':
      return areCellsEnough(filter.term);
    case 'flag':
    case 'flagPresent':
      return Object.hasOwn(FLAGS, filter.key) || isKeptValue(filter);
    default:
      return CELL_ATTRIBUTES.has(filter.field.attribute) || TIMED_ATTRIBUTES.has(filter.field.attribute);
  }
}

function isKeptValue(filter: CheckedFilter<Machine>): boolean {
  if (filter.kind !== 'flag') return false;
  const kept: Readonly<Record<string, string>> = TROUBLES;
  return Object.hasOwn(kept, filter.key) && kept[filter.key] === String(filter.value);
}

/** Whether the filter asks for what the end of a maintenance changes. */
export function asksForTime(filter: CheckedFilter<Machine> | null): boolean {
  if (filter === null) return false;
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.terms.some(asksForTime);
    case 'not':
      return asksForTime(filter.term);
    default:
      return TIMED_ATTRIBUTES.has(filter.field.attribute);
  }
}
