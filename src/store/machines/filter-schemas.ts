/** What machines, operations and events can be filtered by; the same names as in the API. */
import { ACTOR_KINDS } from '../../domain/actor.ts';
import { presenceLifecycle } from '../../domain/agent/presence.ts';
import { ATTENTION_TYPES, attentionCondition, attentionType } from '../../domain/condition/attention.ts';
import { CONDITION_TYPES } from '../../domain/condition/condition.ts';
import { EVENT_KINDS } from '../../domain/event.ts';
import type { FilterSchema, WholeField } from '../../domain/filter/fields.ts';
import { installLifecycle } from '../../domain/install/install-state.ts';
import { statesOf } from '../../domain/lifecycle/lifecycle.ts';
import { EFFECTIVE_STATES, effectiveState } from '../../domain/machine/effective-state.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { phaseLifecycle } from '../../domain/machine/phase.ts';
import { schedulable, UNSCHEDULABLE_REASONS } from '../../domain/machine/schedulable.ts';
import { serviceLifecycle } from '../../domain/machine/service-state.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS, type SpecFieldName } from '../../domain/machine/spec-field.ts';
import { rackOf, specValue } from '../../domain/machine/spec-value.ts';
import { currentStep, type Operation } from '../../domain/operation/operation.ts';
import { operationLifecycle, PHASE_OF_STATUS } from '../../domain/operation/operation-status.ts';
import { OPERATION_TYPE_NAMES } from '../../domain/operation/operation-type.ts';
import { operationIdOf } from '../../domain/v1/run-id.ts';
import { RUN_TYPE_FILTER_NAMES, runTypeName } from '../../domain/v1/run-type.ts';
import { V1_PHASES, v1EffectiveState, v1Phase } from '../../domain/v1/v1-phase.ts';
import { storedReason } from '../../domain/v1/v1-words.ts';
import type { LoggedEvent } from '../events/event-log.ts';
import { SCHEDULABLE_COLUMN, UNSCHEDULABLE_COLUMN } from './schedulable-column.ts';
import { RACK_COLUMN, specColumn } from './spec-columns.ts';

function specField(name: SpecFieldName): WholeField<Machine> {
  const column = specColumn(name);
  return SPEC_FIELDS[name].type === 'list'
    ? { kind: 'stringList', column, get: ({ spec }) => [...specValue(spec, name)] }
    : { kind: 'string', column, get: ({ spec }) => String(specValue(spec, name)) || null };
}

/** Every field of the spec under its own path, and the short ones without its prefix too. */
const SPEC_FILTER: FilterSchema<Machine> = Object.fromEntries(
  SPEC_FIELD_NAMES.flatMap((name) => {
    const field = specField(name);
    const prefixed = [`spec.${name}`, field] as const;
    return SPEC_FIELDS[name].filter === 'short' ? [[name, field] as const, prefixed] : [prefixed];
  }),
);

/** As attentionType does it. */
export const ATTENTION_COLUMN = `(CASE ${ATTENTION_TYPES.map(
  (type) => `WHEN (conditions -> '${type}' -> 'status') = 'true' THEN '${type}'`,
).join(' ')} END)`;

export const ATTENTION_REASON_COLUMN = `(conditions -> ${ATTENTION_COLUMN} ->> 'reason')`;

const ACTIVE_OPERATION = {
  kind: 'string',
  column: 'active_operation_id',
  stored: operationIdOf,
  get: (machine: Machine) => machine.activeOperationId,
} as const;

const ATTENTION_REASON = {
  kind: 'string',
  column: ATTENTION_REASON_COLUMN,
  get: (machine: Machine) => attentionCondition(machine.conditions)?.reason,
} as const;

export const MACHINE_FILTER: FilterSchema<Machine> = {
  machine_id: { kind: 'string', column: 'machine_id', get: (machine) => machine.machineId },
  phase: { kind: 'enum', values: statesOf(phaseLifecycle), column: 'phase', get: (machine) => machine.phase },
  effective_state: {
    kind: 'enum',
    values: Object.keys(EFFECTIVE_STATES),
    column: 'ingot_effective_state(phase, conditions, active_operation_id)',
    get: effectiveState,
  },
  service: {
    kind: 'enum',
    values: statesOf(serviceLifecycle),
    column: 'service',
    get: (machine) => machine.service,
  },
  install: {
    kind: 'enum',
    values: statesOf(installLifecycle),
    column: 'install',
    get: (machine) => machine.install,
  },
  presence: {
    kind: 'enum',
    values: statesOf(presenceLifecycle),
    column: 'presence',
    get: (machine) => machine.presence,
  },
  pool: { kind: 'string', column: 'pool', get: (machine) => machine.pool },
  schedulable: {
    kind: 'boolean',
    column: SCHEDULABLE_COLUMN,
    get: (machine) => schedulable(machine).schedulable,
  },
  unschedulable_reason: {
    kind: 'enum',
    values: UNSCHEDULABLE_REASONS,
    column: UNSCHEDULABLE_COLUMN,
    get: (machine) => schedulable(machine).reason,
  },
  active_operation_id: ACTIVE_OPERATION,
  ...SPEC_FILTER,
  effective_rack: { kind: 'string', column: RACK_COLUMN, get: (machine) => rackOf(machine) || null },
  labels: { kind: 'map', column: 'labels', get: (machine) => machine.labels },
  conditions: {
    kind: 'flags',
    keys: CONDITION_TYPES,
    column: (key) => `((conditions -> '${key}' ->> 'status')::boolean)`,
    get: (machine, key) => machine.conditions[key as (typeof CONDITION_TYPES)[number]]?.status,
  },
  attention: {
    kind: 'enum',
    values: ATTENTION_TYPES,
    column: ATTENTION_COLUMN,
    get: (machine) => attentionType(machine.conditions),
  },
  attention_reason: ATTENTION_REASON,
  effective_since: {
    kind: 'timestamp',
    column: 'effective_since',
    get: (machine) => machine.effectiveSince,
  },
  service_since: {
    kind: 'timestamp',
    column: '(CASE WHEN service IS NOT NULL THEN service_since END)',
    get: (machine) => (machine.service === null ? null : machine.serviceSince),
  },
  install_since: {
    kind: 'timestamp',
    column: '(CASE WHEN install IS NOT NULL THEN install_since END)',
    get: (machine) => (machine.install === null ? null : machine.installSince),
  },
  created_at: { kind: 'timestamp', column: 'created_at', get: (machine) => machine.createdAt },
  updated_at: { kind: 'timestamp', column: 'updated_at', get: (machine) => machine.updatedAt },
};

export const OPERATION_FILTER: FilterSchema<Operation> = {
  operation_id: {
    kind: 'string',
    column: 'operation_id',
    stored: operationIdOf,
    get: (operation) => operation.operationId,
  },
  machine_id: { kind: 'string', column: 'machine_id', get: (operation) => operation.machineId },
  request_id: { kind: 'string', column: 'request_id', get: (operation) => operation.requestId },
  type: { kind: 'enum', values: OPERATION_TYPE_NAMES, column: 'type', get: (operation) => operation.type },
  phase: {
    kind: 'enum',
    values: [...new Set(Object.values(PHASE_OF_STATUS))],
    column: 'ingot_operation_phase(status)',
    get: (operation) => PHASE_OF_STATUS[operation.status],
  },
  status: {
    kind: 'enum',
    values: statesOf(operationLifecycle),
    column: 'status',
    get: (operation) => operation.status,
  },
  plan_id: { kind: 'string', column: 'plan_id', get: (operation) => operation.planId },
  current_step: {
    kind: 'string',
    column: `(CASE WHEN status IN ('pending', 'running', 'compensating') AND steps -> current ->> 'state' <> 'waiting'
      THEN steps -> current ->> 'name' END)`,
    get: (operation) => currentStep(operation)?.name,
  },
  params: { kind: 'map', column: 'params', get: (operation) => operation.params },
  'error.code': { kind: 'string', column: `(error ->> 'code')`, get: (operation) => operation.error?.code },
  cancel_requested: {
    kind: 'boolean',
    column: 'cancel_requested',
    get: (operation) => operation.cancelRequested,
  },
  started_by: { kind: 'string', column: 'started_by', get: (operation) => operation.startedBy },
  created_at: { kind: 'timestamp', column: 'created_at', get: (operation) => operation.createdAt },
  started_at: { kind: 'timestamp', column: 'started_at', get: (operation) => operation.startedAt },
  finished_at: { kind: 'timestamp', column: 'finished_at', get: (operation) => operation.finishedAt },
};

export const EVENT_FILTER: FilterSchema<LoggedEvent> = {
  kind: { kind: 'enum', values: EVENT_KINDS, column: 'kind', get: (event) => event.kind },
  subject: { kind: 'string', column: 'subject', get: (event) => event.subject },
  machine_id: { kind: 'string', column: 'machine_id', get: (event) => event.machineId },
  operation_id: {
    kind: 'string',
    column: 'operation_id',
    stored: operationIdOf,
    get: (event) => event.operationId,
  },
  actor_kind: {
    kind: 'enum',
    values: ACTOR_KINDS,
    column: 'actor_kind',
    get: (event) => event.actorKind,
  },
  actor_id: { kind: 'string', column: 'actor_id', get: (event) => event.actorId },
  from: { kind: 'string', column: 'from_state', get: (event) => event.from },
  to: { kind: 'string', column: 'to_state', get: (event) => event.to },
  comment: { kind: 'string', column: 'comment', get: (event) => event.comment },
  at: { kind: 'timestamp', column: 'at', get: (event) => event.at },
};

/** Document 1's machines: the same fields, with its own two views of the state. */
export const V1_MACHINE_FILTER: FilterSchema<Machine> = {
  ...MACHINE_FILTER,
  active_run_id: ACTIVE_OPERATION,
  attention_reason: { ...ATTENTION_REASON, stored: storedReason },
  phase: {
    kind: 'enum',
    values: V1_PHASES,
    column: 'ingot_v1_phase(phase, conditions, active_operation_id)',
    get: v1Phase,
  },
  effective_state: {
    kind: 'enum',
    values: V1_PHASES,
    column: 'ingot_v1_effective_state(phase, conditions, active_operation_id)',
    get: v1EffectiveState,
  },
};

const { operation_id: runId, type: _type, ...runFields } = OPERATION_FILTER;

/** Document 1's runs. */
export const RUN_FILTER: FilterSchema<Operation> = {
  ...runFields,
  ...(runId && { run_id: runId }),
  type: {
    kind: 'enum',
    values: RUN_TYPE_FILTER_NAMES,
    column: `(CASE type WHEN 'REIMAGE' THEN 'REPAVE' ELSE type END)`,
    get: (operation) => runTypeName(operation.type),
  },
};
