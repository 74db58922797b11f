/** Rows of the tables of rollouts, as the database returns them and as domain objects. */
import type { Actor, Role } from '../../domain/actor.ts';
import type {
  MachineCounts,
  Rollout,
  RolloutAction,
  RolloutMachine,
  RolloutMachineState,
  RolloutState,
  RolloutWave,
  WaveState,
} from '../../domain/rollout/rollout.ts';
import { statesOfRolloutMachines } from '../../domain/rollout/rollout-state.ts';
import type { Gate, RolloutSpec } from '../../domain/rollout/spec/rollout-spec.ts';
import type { FailureTally } from '../../domain/rollout/stop-rule.ts';

type StoredSpec = Omit<RolloutSpec, 'startAt' | 'deadline'> & {
  readonly startAt: string | null;
  readonly deadline: string | null;
};

export function specOfStored({ startAt, deadline, ...spec }: StoredSpec): RolloutSpec {
  return { ...spec, startAt: timeOf(startAt), deadline: timeOf(deadline) };
}

function timeOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

/** What the execution reads and writes of a rollout. */
export interface RolloutRow {
  rollout_id: string;
  spec: StoredSpec;
  state: RolloutState;
  reason: string;
  waiting_for: string;
  tally: FailureTally;
  cancel_running: boolean;
  actor: Actor;
  created_by: string;
  scope: string;
  scope_terms: string[];
  rolls_back: string;
  owner: string | null;
  epoch: number;
  revision: number;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}

/**
 * The ids that a spec names are left out: there may be a hundred thousand, only the answer about a single rollout shows them, and
 * readMachineIds (machine-ids.ts) reads them in pieces. A list, a stream and each pass of the execution would wait for them.
 */
export const ROLLOUT_COLUMNS = `rollout_id, spec || '{"machineIds": []}' AS spec, state, reason, waiting_for, tally, cancel_running,
  actor, created_by, scope, scope_terms, rolls_back, owner, epoch, revision, created_at, started_at, finished_at`;

export interface CountsRow {
  pending: number;
  running: number;
  succeeded: number;
  failed: number;
  skipped: number;
  canceled: number;
  ineligible: number;
}

const NO_MACHINES: MachineCounts = {
  pending: 0,
  running: 0,
  succeeded: 0,
  failed: 0,
  skipped: 0,
  canceled: 0,
  ineligible: 0,
};

export const COUNT_COLUMNS = statesOfRolloutMachines.join(', ');

/** Of all waves of a rollout. */
export const SUMMED_COUNTS = statesOfRolloutMachines
  .map((state) => `coalesce(sum(${state}), 0)::integer AS ${state}`)
  .join(', ');

export function countsOf(row: CountsRow): MachineCounts {
  const { pending, running, succeeded, failed, skipped, canceled, ineligible } = row;
  return { pending, running, succeeded, failed, skipped, canceled, ineligible };
}

export interface WaveRow extends CountsRow {
  rollout_id: string;
  number: number;
  name: string;
  state: WaveState;
  gate: Gate;
  approval_rule: string;
  approver_role: Role;
  approved_by: string;
  approved_at: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  soaks_until: Date | null;
}

export const WAVE_COLUMNS = `rollout_id, number, name, state, gate, approval_rule, approver_role, approved_by, approved_at,
  started_at, finished_at, soaks_until, ${COUNT_COLUMNS}`;

function waveOf(row: WaveRow): RolloutWave {
  return {
    number: row.number,
    name: row.name,
    state: row.state,
    machines: countsOf(row),
    gate: row.gate,
    approvalRule: row.approval_rule,
    approvedBy: row.approved_by,
    approvedAt: row.approved_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    soaksUntil: row.state === 'soaking' ? row.soaks_until : null,
  };
}

export interface MachineOfRolloutRow {
  machine_id: string;
  position: number;
  wave: number;
  state: RolloutMachineState;
  step: number;
  attempt: number;
  operation_ids: string[];
  error_code: string;
  message: string;
  started_at: Date | null;
  finished_at: Date | null;
}

export const MACHINE_OF_ROLLOUT_COLUMNS = `machine_id, position, wave, state, step, attempt, operation_ids, error_code, message,
  started_at, finished_at`;

export function machineOfRollout(row: MachineOfRolloutRow): RolloutMachine {
  return {
    machineId: row.machine_id,
    wave: row.wave,
    state: row.state,
    step: row.step,
    operationIds: row.operation_ids,
    errorCode: row.error_code,
    message: row.message,
    attempts: row.started_at === null ? 0 : row.attempt,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  };
}

/** What is read beside the row of a rollout. */
export interface RolloutDetails {
  readonly waves: readonly WaveRow[];
  readonly failures: Rollout['failures'];
  readonly actions: readonly RolloutAction[];
  readonly rolledBackBy: readonly string[];
}

export function rolloutOf(row: RolloutRow, details: RolloutDetails): Rollout {
  return {
    rolloutId: row.rollout_id,
    spec: specOfStored(row.spec),
    state: row.state,
    waitingFor: row.waiting_for,
    reason: row.reason,
    waves: details.waves.filter(({ number }) => number > 0).map(waveOf),
    machines: sumOf(details.waves),
    failures: details.failures,
    createdBy: row.created_by,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    rollsBack: row.rolls_back,
    rolledBackBy: details.rolledBackBy,
    revision: row.revision,
    actions: details.actions,
  };
}

function sumOf(waves: readonly CountsRow[]): MachineCounts {
  const counts = { ...NO_MACHINES } as Record<RolloutMachineState, number>;
  for (const wave of waves) for (const state of statesOfRolloutMachines) counts[state] += wave[state];
  return counts;
}
