/** Maps rollouts and their machines to baremetal.fleet.v1. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type {
  MachineCounts,
  Rollout,
  RolloutMachine,
  RolloutMachineState,
  RolloutState,
  RolloutWave,
  WaveState,
} from '../../../../domain/rollout/rollout.ts';
import type { RolloutSpec } from '../../../../domain/rollout/spec/rollout-spec.ts';
import {
  type LimitUseSchema,
  type MachineCountsSchema,
  Rollout_State,
  RolloutMachine_State,
  type RolloutMachineSchema,
  type RolloutSchema,
  Wave_State,
  type WaveSchema,
} from '../../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { specMessage } from './spec-message.ts';

const STATES = {
  scheduled: Rollout_State.SCHEDULED,
  running: Rollout_State.RUNNING,
  paused: Rollout_State.PAUSED,
  stopped: Rollout_State.STOPPED,
  aborting: Rollout_State.ABORTING,
  succeeded: Rollout_State.SUCCEEDED,
  failed: Rollout_State.FAILED,
  aborted: Rollout_State.ABORTED,
  expired: Rollout_State.EXPIRED,
} as const satisfies Record<RolloutState, Rollout_State>;

const WAVE_STATES = {
  waiting: Wave_State.WAITING,
  waiting_for_approval: Wave_State.WAITING_FOR_APPROVAL,
  running: Wave_State.RUNNING,
  soaking: Wave_State.SOAKING,
  done: Wave_State.DONE,
} as const satisfies Record<WaveState, Wave_State>;

const MACHINE_STATES = {
  pending: RolloutMachine_State.PENDING,
  running: RolloutMachine_State.RUNNING,
  succeeded: RolloutMachine_State.SUCCEEDED,
  failed: RolloutMachine_State.FAILED,
  skipped: RolloutMachine_State.SKIPPED,
  canceled: RolloutMachine_State.CANCELED,
  ineligible: RolloutMachine_State.INELIGIBLE,
} as const satisfies Record<RolloutMachineState, RolloutMachine_State>;

const COUNTED = Object.keys(MACHINE_STATES) as RolloutMachineState[];

export type LimitUses = MessageInitShape<typeof LimitUseSchema>[];
type RolloutInit = MessageInitShape<typeof RolloutSchema>;

export function rolloutMessage(rollout: Rollout, limits: LimitUses): RolloutInit {
  return { ...summaryOf(rollout), spec: specMessage(rollout.spec), limits, actions: actionsOf(rollout) };
}

/** A list leaves out actions, limits and the ids of specs. */
export function rolloutInList(rollout: Rollout): RolloutInit {
  return { ...summaryOf(rollout), spec: specMessage(rollout.spec) };
}

/** The ids of its spec are left out: they never change, and there may be a hundred thousand. */
export function rolloutInStream(rollout: Rollout, limits: LimitUses): RolloutInit {
  return { ...summaryOf(rollout), spec: specMessage(rollout.spec), limits, actions: actionsOf(rollout) };
}

function summaryOf(rollout: Rollout) {
  return {
    rolloutId: rollout.rolloutId,
    state: STATES[rollout.state],
    waitingFor: rollout.waitingFor,
    reason: rollout.reason,
    waves: rollout.waves.map(waveMessage),
    machines: countsMessage(rollout.machines),
    failures: rollout.failures.map((group) => ({ ...group })),
    createdBy: rollout.createdBy,
    createdAt: timestampFromDate(rollout.createdAt),
    ...(rollout.startedAt && { startedAt: timestampFromDate(rollout.startedAt) }),
    ...(rollout.finishedAt && { finishedAt: timestampFromDate(rollout.finishedAt) }),
    rollsBack: rollout.rollsBack,
    rolledBackBy: [...rollout.rolledBackBy],
    revision: BigInt(rollout.revision),
  };
}

function actionsOf({ actions }: Rollout) {
  return actions.map(({ at, ...action }) => ({ ...action, at: timestampFromDate(at) }));
}

function waveMessage(wave: RolloutWave): MessageInitShape<typeof WaveSchema> {
  return {
    number: wave.number,
    name: wave.name,
    state: WAVE_STATES[wave.state],
    machines: countsMessage(wave.machines),
    gate: wave.gate,
    approvedBy: wave.approvedBy,
    approvalRule: wave.approvalRule,
    ...(wave.approvedAt && { approvedAt: timestampFromDate(wave.approvedAt) }),
    ...(wave.startedAt && { startedAt: timestampFromDate(wave.startedAt) }),
    ...(wave.finishedAt && { finishedAt: timestampFromDate(wave.finishedAt) }),
    ...(wave.soaksUntil && { soaksUntil: timestampFromDate(wave.soaksUntil) }),
  };
}

function countsMessage(counts: MachineCounts): MessageInitShape<typeof MachineCountsSchema> {
  return { ...counts, total: COUNTED.reduce((total, state) => total + counts[state], 0) };
}

export function rolloutMachineMessage(
  machine: RolloutMachine,
  { steps }: Pick<RolloutSpec, 'steps'>,
): MessageInitShape<typeof RolloutMachineSchema> {
  const { startedAt, finishedAt } = machine;
  return {
    machineId: machine.machineId,
    wave: machine.wave,
    state: MACHINE_STATES[machine.state],
    step: machine.step + 1,
    stepName: steps[machine.step]?.verb ?? '',
    operationId: machine.operationIds.at(-1) ?? '',
    operationIds: [...machine.operationIds],
    errorCode: machine.errorCode,
    message: machine.message,
    attempts: machine.attempts,
    ...(startedAt && { startedAt: timestampFromDate(startedAt) }),
    ...(finishedAt && { finishedAt: timestampFromDate(finishedAt) }),
  };
}
