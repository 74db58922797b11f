/** What machines can be filtered by: in v2's words, and in v1's (docs/api-v1.md), which has its own view of the state. */
import { presenceLifecycle } from '../agent/presence.ts';
import { ATTENTION_TYPES, attentionCondition, attentionType } from '../condition/attention.ts';
import { CONDITION_TYPES } from '../condition/condition.ts';
import {
  HARDWARE_FIELD_NAMES,
  HARDWARE_FIELDS,
  type HardwareField,
  type HardwareFilterName,
} from '../hardware/hardware-summary.ts';
import { installLifecycle } from '../install/install-state.ts';
import { statesOf } from '../lifecycle/lifecycle.ts';
import { availability, UNAVAILABLE_REASONS } from '../machine/availability.ts';
import { EFFECTIVE_STATES, effectiveState } from '../machine/effective-state.ts';
import { HEADLINE_REASONS, HEADLINE_TONE_NAMES } from '../machine/headline.ts';
import type { Machine } from '../machine/machine.ts';
import { machineHeadline } from '../machine/machine-headline.ts';
import { isMaintenanceOverdue } from '../machine/maintenance.ts';
import { phaseLifecycle } from '../machine/phase.ts';
import { schedulable, UNSCHEDULABLE_REASONS } from '../machine/schedulable.ts';
import { serviceLifecycle } from '../machine/service-state.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS, type SpecFieldName } from '../machine/spec/spec-field.ts';
import { rackOf, specValue } from '../machine/spec/spec-value.ts';
import { operationIdOf } from '../v1/run-id.ts';
import { V1_PHASES, v1EffectiveState, v1Phase } from '../v1/v1-phase.ts';
import { storedReason } from '../v1/v1-words.ts';
import { type Attribute, type FilterSchema, fieldsOf } from './fields.ts';

type SpecAttribute = `spec.${SpecFieldName}`;
type WholeAttribute = Exclude<Attribute<Machine>, { readonly kind: 'flags' }>;

function specAttribute(name: SpecFieldName): WholeAttribute {
  return SPEC_FIELDS[name].type === 'list'
    ? { kind: 'stringList', get: ({ spec }) => [...specValue(spec, name)] }
    : { kind: 'string', get: ({ spec }) => String(specValue(spec, name)) || null };
}

const SPEC_ATTRIBUTES = Object.fromEntries(
  SPEC_FIELD_NAMES.map((name) => [`spec.${name}`, specAttribute(name)]),
) as Readonly<Record<SpecAttribute, WholeAttribute>>;

function hardwareAttribute(name: HardwareField): WholeAttribute {
  return HARDWARE_FIELDS[name].kind === 'number'
    ? { kind: 'integer', get: ({ hardware }) => hardware?.[name] as number | undefined }
    : { kind: 'string', get: ({ hardware }) => hardware?.[name] as string | undefined };
}

const HARDWARE_ATTRIBUTES = Object.fromEntries(
  HARDWARE_FIELD_NAMES.map((name) => [HARDWARE_FIELDS[name].filter, hardwareAttribute(name)]),
) as Readonly<Record<HardwareFilterName, WholeAttribute>>;

/** The store has a column for each (src/store/filter/machine-columns.ts). */
const ATTRIBUTES = {
  machine_id: { kind: 'string', get: (machine) => machine.machineId },
  phase: { kind: 'enum', values: statesOf(phaseLifecycle), get: (machine) => machine.phase },
  effective_state: { kind: 'enum', values: Object.keys(EFFECTIVE_STATES), get: effectiveState },
  service: { kind: 'enum', values: statesOf(serviceLifecycle), get: (machine) => machine.service },
  install: { kind: 'enum', values: statesOf(installLifecycle), get: (machine) => machine.install },
  presence: { kind: 'enum', values: statesOf(presenceLifecycle), get: (machine) => machine.presence },
  pool: { kind: 'string', get: (machine) => machine.pool },
  schedulable: { kind: 'boolean', get: (machine) => schedulable(machine).schedulable },
  unschedulable_reason: {
    kind: 'enum',
    values: UNSCHEDULABLE_REASONS,
    get: (machine) => schedulable(machine).reason,
  },
  available: { kind: 'boolean', get: (machine) => availability(machine).available },
  unavailable_reason: {
    kind: 'enum',
    values: UNAVAILABLE_REASONS,
    get: (machine) => availability(machine).reason,
  },
  active_operation_id: {
    kind: 'string',
    stored: operationIdOf,
    get: (machine) => machine.activeOperationId,
  },
  /** A rollout that it is part of. */
  rollout: { kind: 'reference' },
  ...SPEC_ATTRIBUTES,
  effective_rack: { kind: 'string', get: (machine) => rackOf(machine) || null },
  ...HARDWARE_ATTRIBUTES,
  'hardware.lemon_score': { kind: 'integer', get: (machine) => machine.lemonScore },
  labels: { kind: 'map', get: (machine) => machine.labels },
  conditions: {
    kind: 'flags',
    keys: CONDITION_TYPES,
    get: (machine, key) => machine.conditions[key as (typeof CONDITION_TYPES)[number]]?.status,
  },
  attention: {
    kind: 'enum',
    values: ATTENTION_TYPES,
    get: (machine) => attentionType(machine.conditions),
  },
  attention_reason: {
    kind: 'string',
    get: (machine) => attentionCondition(machine.conditions)?.reason,
  },
  /** The rule that decides the headline, and its tone. Stalled operations are not a matter of the machine's row. */
  headline: {
    kind: 'enum',
    values: HEADLINE_REASONS.filter((name) => name !== 'stalled'),
    get: (machine) => machineHeadline(machine, new Date()).reason,
  },
  tone: {
    kind: 'enum',
    values: HEADLINE_TONE_NAMES,
    get: (machine) => machineHeadline(machine, new Date()).tone,
  },
  needs_attention: {
    kind: 'boolean',
    get: (machine) => machineHeadline(machine, new Date()).needsAttention,
  },
  maintenance_overdue: { kind: 'boolean', get: (machine) => isMaintenanceOverdue(machine, new Date()) },
  maintenance_until: {
    kind: 'timestamp',
    get: ({ maintenance }) => (maintenance?.until ? new Date(maintenance.until) : null),
  },
  effective_since: { kind: 'timestamp', get: (machine) => machine.effectiveSince },
  service_since: {
    kind: 'timestamp',
    get: (machine) => (machine.service === null ? null : machine.serviceSince),
  },
  install_since: {
    kind: 'timestamp',
    get: (machine) => (machine.install === null ? null : machine.installSince),
  },
  created_at: { kind: 'timestamp', get: (machine) => machine.createdAt },
  updated_at: { kind: 'timestamp', get: (machine) => machine.updatedAt },
  v1_phase: { kind: 'enum', values: V1_PHASES, get: v1Phase },
  v1_effective_state: { kind: 'enum', values: V1_PHASES, get: v1EffectiveState },
} as const satisfies Record<string, Attribute<Machine>>;

export type MachineAttributes = typeof ATTRIBUTES;
export type MachineAttribute = keyof MachineAttributes;
type MachineSchema = FilterSchema<Machine, MachineAttribute>;

const {
  v1_phase: phaseInV1,
  v1_effective_state: effectiveStateInV1,
  ...FIELDS
} = fieldsOf<Machine, MachineAttribute>(ATTRIBUTES);

const SHORT_NAMES = new Map<string, string>(
  SPEC_FIELD_NAMES.filter((name) => SPEC_FIELDS[name].filter === 'short').map((name) => [
    `spec.${name}`,
    name,
  ]),
);

/** A short field of the spec has two names, every other field has that of its attribute. */
export const MACHINE_FILTER: MachineSchema = Object.fromEntries(
  Object.values(FIELDS).flatMap((field) => {
    const short = SHORT_NAMES.get(field.attribute);
    return short === undefined
      ? [[field.attribute, field]]
      : [
          [short, field],
          [field.attribute, field],
        ];
  }),
);

/** v1 has the same fields, but for the two views of the state, and calls operations runs. */
export const V1_MACHINE_FILTER: MachineSchema = {
  ...MACHINE_FILTER,
  active_run_id: FIELDS.active_operation_id,
  attention_reason: { ...ATTRIBUTES.attention_reason, attribute: 'attention_reason', stored: storedReason },
  phase: phaseInV1,
  effective_state: effectiveStateInV1,
};
