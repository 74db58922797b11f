/** The SQL of each attribute that machines can be filtered by. Indexes have the same expressions. */
import { ATTENTION_TYPES } from '../../domain/condition/attention.ts';
import type { MachineAttributes } from '../../domain/filter/machine-filter.ts';
import { SPEC_FIELD_NAMES, type SpecFieldName } from '../../domain/machine/spec/spec-field.ts';
import { AVAILABLE_COLUMN, UNAVAILABLE_COLUMN } from '../machines/availability-column.ts';
import { HARDWARE_COLUMNS } from '../machines/hardware-columns.ts';
import { HEADLINE_COLUMN, NEEDS_ATTENTION_COLUMN, TONE_COLUMN } from '../machines/headline-column.ts';
import { SCHEDULABLE_COLUMN, UNSCHEDULABLE_COLUMN } from '../machines/schedulable-column.ts';
import { RACK_COLUMN, specColumn } from '../machines/spec-columns.ts';
import type { FilterColumns } from './filter-columns.ts';

/** The same rule as attentionType. */
const ATTENTION_COLUMN = `(CASE ${ATTENTION_TYPES.map(
  (type) => `WHEN (conditions -> '${type}' -> 'status') = 'true' THEN '${type}'`,
).join(' ')} END)`;

const SPEC_COLUMNS = Object.fromEntries(
  SPEC_FIELD_NAMES.map((name) => [`spec.${name}`, specColumn(name)]),
) as Readonly<Record<`spec.${SpecFieldName}`, string>>;

export const MACHINE_FILTER_COLUMNS = {
  machine_id: 'machine_id',
  phase: 'phase',
  effective_state: 'ingot_effective_state(phase, conditions, active_operation_id)',
  service: 'service',
  install: 'install',
  presence: 'presence',
  pool: 'pool',
  schedulable: SCHEDULABLE_COLUMN,
  unschedulable_reason: UNSCHEDULABLE_COLUMN,
  available: AVAILABLE_COLUMN,
  unavailable_reason: UNAVAILABLE_COLUMN,
  active_operation_id: 'active_operation_id',
  rollout: (id: string) =>
    `machine_id IN (SELECT of.machine_id FROM rollout_machines of WHERE of.rollout_id = ${id})`,
  ...SPEC_COLUMNS,
  effective_rack: RACK_COLUMN,
  ...HARDWARE_COLUMNS,
  'hardware.lemon_score': 'lemon_score',
  labels: 'labels',
  conditions: (key: string) => `((conditions -> '${key}' ->> 'status')::boolean)`,
  attention: ATTENTION_COLUMN,
  attention_reason: `(conditions -> ${ATTENTION_COLUMN} ->> 'reason')`,
  headline: HEADLINE_COLUMN,
  tone: TONE_COLUMN,
  needs_attention: NEEDS_ATTENTION_COLUMN,
  maintenance_overdue: `(phase = 'MAINTENANCE' AND coalesce((maintenance ->> 'until')::timestamptz <= now(), false))`,
  maintenance_until: `(CASE WHEN phase = 'MAINTENANCE' THEN (maintenance ->> 'until')::timestamptz END)`,
  effective_since: 'effective_since',
  service_since: '(CASE WHEN service IS NOT NULL THEN service_since END)',
  install_since: '(CASE WHEN install IS NOT NULL THEN install_since END)',
  created_at: 'created_at',
  updated_at: 'updated_at',
  v1_phase: 'ingot_v1_phase(phase, conditions, active_operation_id)',
  v1_effective_state: 'ingot_v1_effective_state(phase, conditions, active_operation_id)',
} as const satisfies FilterColumns<MachineAttributes>;
