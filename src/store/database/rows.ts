/** Rows of the two central tables, as the database returns them and as domain objects. */

import type { Presence } from '../../domain/agent/presence.ts';
import type { Conditions } from '../../domain/condition/condition.ts';
import type { HardwareSummary } from '../../domain/hardware/hardware-summary.ts';
import type { Locating } from '../../domain/hardware/locating.ts';
import type { InstallState } from '../../domain/install/install-state.ts';
import type { Labels, Machine, MachineSpec, ObservedState } from '../../domain/machine/machine.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Maintenance } from '../../domain/machine/maintenance.ts';
import type { Phase } from '../../domain/machine/phase.ts';
import type { ServiceState } from '../../domain/machine/service-state.ts';
import { specOfRow } from '../../domain/machine/spec/machine-spec.ts';
import type { Approval } from '../../domain/operation/approval.ts';
import type { CompletionPolicyName } from '../../domain/operation/completion-policy.ts';
import type { Operation, OperationError } from '../../domain/operation/operation.ts';
import type { OperationStatus } from '../../domain/operation/operation-status.ts';
import type { OperationType } from '../../domain/operation/operation-type.ts';
import type { Step } from '../../domain/operation/step.ts';
import { jsonTimestamp } from './timestamp.ts';

export interface MachineRow {
  machine_id: string;
  labels: Labels;
  spec: Partial<MachineSpec>;
  phase: Phase;
  service: ServiceState | null;
  install: InstallState | null;
  presence: Presence | null;
  pool: string | null;
  conditions: Conditions;
  observed: ObservedState | null;
  maintenance: Maintenance | null;
  hardware: HardwareSummary | null;
  lemon_score: number;
  locating: Locating | null;
  active_operation_id: string | null;
  active_operation_type: OperationType | null;
  entered_service_at: Date | null;
  effective_since: Date;
  service_since: Date;
  install_since: Date;
  created_at: Date;
  updated_at: Date;
}

export const MACHINE_COLUMNS = `machine_id, labels, spec, phase, service, install, presence, pool, conditions, observed,
  maintenance, hardware, lemon_score, locating, active_operation_id, active_operation_type, entered_service_at, effective_since, service_since, install_since, created_at, updated_at`;

export function machineOf(row: MachineRow): Machine {
  return {
    machineId: row.machine_id,
    labels: row.labels,
    spec: specOfRow(row.spec),
    phase: row.phase,
    service: row.service,
    install: row.install,
    presence: row.presence,
    pool: row.pool,
    conditions: row.conditions,
    observed: row.observed,
    maintenance: row.phase === 'MAINTENANCE' ? row.maintenance : null,
    hardware: row.hardware,
    lemonScore: row.lemon_score,
    locating: row.locating,
    activeOperationId: row.active_operation_id,
    activeOperationType: row.active_operation_type,
    enteredServiceAt: row.entered_service_at,
    effectiveSince: row.effective_since,
    serviceSince: row.service_since,
    installSince: row.install_since,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** The columns as one JSON text: it costs the server half of what a row of columns costs, which the driver reads one by one. */
export const MACHINE_AS_JSON = `json_build_array(${MACHINE_COLUMNS})::text AS machine`;

export interface MachineJson {
  readonly machine: string;
}

/** In the order of MACHINE_COLUMNS. */
type MachineValues = readonly [
  string,
  Labels,
  Partial<MachineSpec>,
  Phase,
  ServiceState | null,
  InstallState | null,
  Presence | null,
  string | null,
  Conditions,
  ObservedState | null,
  Maintenance | null,
  HardwareSummary | null,
  number,
  Locating | null,
  string | null,
  OperationType | null,
  string | null,
  string,
  string,
  string,
  string,
  string,
];

export function machineOfJson({ machine }: MachineJson): Machine {
  const values = JSON.parse(machine) as MachineValues;
  return {
    machineId: values[0],
    labels: values[1],
    spec: specOfRow(values[2]),
    phase: values[3],
    service: values[4],
    install: values[5],
    presence: values[6],
    pool: values[7],
    conditions: values[8],
    observed: values[9],
    maintenance: values[3] === 'MAINTENANCE' ? values[10] : null,
    hardware: values[11],
    lemonScore: values[12],
    locating: values[13],
    activeOperationId: values[14],
    activeOperationType: values[15],
    enteredServiceAt: values[16] === null ? null : jsonTimestamp(values[16]),
    effectiveSince: jsonTimestamp(values[17]),
    serviceSince: jsonTimestamp(values[18]),
    installSince: jsonTimestamp(values[19]),
    createdAt: jsonTimestamp(values[20]),
    updatedAt: jsonTimestamp(values[21]),
  };
}

/** The part of an approval that only its decision needs. */
export interface StoredApproval extends Approval {
  readonly change: MachineChange;
  readonly askedIn: AskedIn;
}

export type AskedIn = Pick<Machine, 'phase' | 'service' | 'install'>;

export interface OperationRow {
  operation_id: string;
  machine_id: string;
  request_id: string;
  request_fingerprint: string;
  type: OperationType;
  status: OperationStatus;
  plan_id: string;
  contract: string;
  params: Record<string, string>;
  steps: Step[];
  current: number;
  error: OperationError | null;
  waiting_for: string;
  approval: StoredApproval | null;
  cancel_requested: boolean;
  started_by: string;
  rollout_id: string | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}

export const OPERATION_COLUMNS = `operation_id, machine_id, request_id, request_fingerprint, type, status, plan_id, contract,
  params, steps, current, error, waiting_for, approval, cancel_requested, started_by, rollout_id, created_at, started_at, finished_at`;

export function operationOf(row: OperationRow): Operation {
  return {
    operationId: row.operation_id,
    machineId: row.machine_id,
    requestId: row.request_id,
    type: row.type,
    status: row.status,
    planId: row.plan_id,
    completionPolicy: row.contract as CompletionPolicyName,
    params: row.params,
    steps: row.steps,
    current: row.current,
    error: row.error,
    waitingFor: row.waiting_for,
    approval: row.approval && shownApproval(row.approval),
    cancelRequested: row.cancel_requested,
    startedBy: row.started_by,
    rolloutId: row.rollout_id ?? '',
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  };
}

function shownApproval({ change: _change, askedIn: _askedIn, ...shown }: StoredApproval): Approval {
  return shown;
}
