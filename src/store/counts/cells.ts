/**
 * Counts of machines that do not grow with the fleet: theory of operation.
 *
 * A cell is a combination of everything that machines are usually counted, filtered and scoped by. Machines of one cell are
 * the same to all these questions, so a count over cells is the count over machines, and there are as many cells as the
 * fleet has combinations in use: hundreds or a few thousand, with a thousand machines or with a million.
 *
 * Triggers append to `machine_count_deltas` what a statement adds to cells and takes from them (migrations 0048 and 0105). These are
 * inserts, so no writer waits for another. Replicas fold them into `machine_counts` (fold-counts.ts). The sum of both in one
 * snapshot is exact at every moment: a change and its delta commit together, and so do both sides of a fold. A check compares
 * the sum with the machines from time to time (check-counts.ts).
 *
 * The relation of cells has the columns of machines that a cell determines, so that filters, scopes and facets have one SQL
 * expression, whichever of the two they read.
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

/** The columns of a delta, each with its expression over a machine. The triggers of migration 0105 have the same ones. */
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

/** The columns of machines that a delta determines, in the order of `machine_counts`. */
export const AS_MACHINE = `phase, service, install, presence, pool,
  CASE WHEN coalesce(retired, rma, intervention, drained, joined) IS NULL THEN '{}' ELSE jsonb_strip_nulls(jsonb_build_object(
    ${flag('Retired', 'CASE WHEN retired THEN reason END')},
    ${flag('RMA', 'CASE WHEN rma AND retired IS NOT TRUE THEN reason END')},
    ${flag('NeedsIntervention', 'CASE WHEN intervention AND retired IS NOT TRUE AND rma IS NOT TRUE THEN reason END')},
    ${flag('Drained', 'NULL')}, ${flag('InCustomerCluster', 'NULL')})) END AS conditions,
  CASE WHEN busy THEN '-' END AS active_operation_id, operation AS active_operation_type,
  CASE WHEN entered THEN '-infinity'::timestamptz END AS entered_service_at,
  jsonb_strip_nulls(jsonb_build_object('provider', provider, 'customer_id', customer,
    'location', CASE WHEN site IS NOT NULL THEN jsonb_build_object('site', site) END)) AS spec,
  jsonb_strip_nulls(jsonb_build_object('model', hardware_model, 'gpu_model', gpu_model, 'memory_gib', memory_gib)) AS hardware`;

export const MACHINE_LIKE = `phase, service, install, presence, pool, conditions, active_operation_id, active_operation_type,
  entered_service_at, spec, hardware`;

/** Each row stands for as many machines as its column `machines` says, which may be less than none. */
export const CELLS = `(SELECT ${MACHINE_LIKE}, machines FROM machine_counts
  UNION ALL SELECT ${AS_MACHINE}, machines FROM machine_count_deltas)`;

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

/** What machines can be counted by that a cell determines. */
const CELL_KEYS: ReadonlySet<string> = new Set([
  ...['phase', 'effective_state', 'service', 'install', 'presence', 'pool', 'schedulable', 'available'],
  ...['unschedulable_reason', 'unavailable_reason', 'provider', 'customer_id', 'location.site'],
  ...['hardware.model', 'hardware.gpu.model', 'hardware.memory_gib', 'operation', 'attention'],
]);

export function isCellKey(name: string): boolean {
  return CELL_KEYS.has(name);
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
      return Object.hasOwn(FLAGS, filter.key);
    default:
      return CELL_ATTRIBUTES.has(filter.field.attribute);
  }
}
