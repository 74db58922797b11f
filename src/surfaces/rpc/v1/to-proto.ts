/** Maps the domain to baremetal.v1. */
import { fromJson, type JsonValue, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { isTrue } from '../../../domain/condition/condition.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { Operation } from '../../../domain/operation/operation.ts';
import { PHASE_OF_STATUS } from '../../../domain/operation/operation-status.ts';
import type { Plan, PlanStep, StepDefaults } from '../../../domain/operation/plan.ts';
import { hadSucceeded, retryCount, type Step } from '../../../domain/operation/step.ts';
import type { StepState } from '../../../domain/operation/step-state.ts';
import { runIdOf } from '../../../domain/v1/run-id.ts';
import { runTypeName } from '../../../domain/v1/run-type.ts';
import { V1_BANNERS, v1EffectiveState, v1Phase } from '../../../domain/v1/v1-phase.ts';
import { v1Reason, v1Text } from '../../../domain/v1/v1-words.ts';
import {
  type ConditionSchema,
  type MachineSchema,
  MachineStatus_Phase,
} from '../../../gen/baremetal/v1/machine_pb.ts';
import { type PlanSchema, StepSchema } from '../../../gen/baremetal/v1/plan_pb.ts';
import {
  Run_Phase,
  type RunSchema,
  StepStatus_State,
  type StepStatusSchema,
} from '../../../gen/baremetal/v1/run_pb.ts';
import { defaultFor } from '../../../operations/plans/plans.ts';
import { operationMessage, schedulableFields, machineMessage as v2Machine } from '../v2/to-proto.ts';

/** Identity, labels, spec and conditions have the same shape in both APIs; the status differs. */
export function machineMessage(machine: Machine): MessageInitShape<typeof MachineSchema> {
  const { machineId, labels, spec, status, createdAt, updatedAt } = v2Machine(machine) as MessageInitShape<
    typeof MachineSchema
  >;
  const offer = schedulableFields(machine);
  return {
    machineId: machineId ?? '',
    labels: labels ?? {},
    ...(spec && { spec }),
    ...(createdAt && { createdAt }),
    ...(updatedAt && { updatedAt }),
    status: {
      phase: MachineStatus_Phase[v1Phase(machine)],
      conditions: (status?.conditions ?? []).map(conditionMessage),
      activeRunId: runIdOf(machine.activeOperationId ?? ''),
      effectiveState: MachineStatus_Phase[v1EffectiveState(machine)],
      banners: V1_BANNERS.filter((type) => isTrue(machine.conditions, type)),
      ...offer,
      unschedulableMessage: v1Text(offer.unschedulableMessage),
    },
  };
}

type ConditionMessage = MessageInitShape<typeof ConditionSchema>;

function conditionMessage(condition: ConditionMessage): ConditionMessage {
  const { reason, message } = condition;
  return { ...condition, reason: v1Reason(reason ?? ''), message: v1Text(message ?? '') };
}

const STEP_STATES = {
  waiting: StepStatus_State.WAITING,
  running: StepStatus_State.RUNNING,
  succeeded: StepStatus_State.SUCCEEDED,
  failed: StepStatus_State.FAILED,
} as const satisfies Record<Exclude<StepState, 'undone'>, StepStatus_State>;

export function runMessage(operation: Operation): MessageInitShape<typeof RunSchema> {
  const { error, currentStep, progressPercent } = operationMessage(operation);
  return {
    runId: runIdOf(operation.operationId),
    machineId: operation.machineId,
    requestId: operation.requestId,
    type: runTypeName(operation.type),
    planId: operation.planId,
    phase: Run_Phase[PHASE_OF_STATUS[operation.status]],
    steps: operation.steps.map(stepMessage),
    currentStep: currentStep ?? '',
    createdAt: timestampFromDate(operation.createdAt),
    ...(operation.startedAt && { startedAt: timestampFromDate(operation.startedAt) }),
    ...(operation.finishedAt && { finishedAt: timestampFromDate(operation.finishedAt) }),
    ...(error && {
      error: { ...error, message: v1Text(error.message ?? ''), $typeName: 'baremetal.v1.RunError' },
    }),
    cancelRequested: operation.cancelRequested,
    startedBy: operation.startedBy,
    progressPercent: progressPercent ?? 0,
  } as MessageInitShape<typeof RunSchema>;
}

/** baremetal.v1 has no state for undone: the state is that of the step, and its message says that it was undone. */
function stepState(step: Step): StepStatus_State {
  if (step.state !== 'undone') return STEP_STATES[step.state];
  return hadSucceeded(step) ? StepStatus_State.SUCCEEDED : StepStatus_State.FAILED;
}

function undoneText({ message }: Step): string {
  return message === '' ? 'undone' : `undone: ${message}`;
}

function stepMessage(step: Step): MessageInitShape<typeof StepStatusSchema> {
  return {
    name: step.name,
    state: stepState(step),
    retryCount: retryCount(step),
    ...(step.startedAt && { startedAt: timestampFromMs(Date.parse(step.startedAt)) }),
    ...(step.finishedAt && { finishedAt: timestampFromMs(Date.parse(step.finishedAt)) }),
    message: v1Text(step.state === 'undone' ? undoneText(step) : step.message),
    kind: step.kind,
    progressPercent: step.progress,
  };
}

/** With the inherited defaults filled in, so that a plan shows what would run. */
export function planMessage(plan: Plan, defaults: StepDefaults): MessageInitShape<typeof PlanSchema> {
  return {
    planId: plan.planId,
    displayName: plan.displayName,
    steps: plan.steps.map((step) => planStepMessage(step, defaults)),
    defaultFor: defaultFor(plan.planId),
  };
}

function planStepMessage(step: PlanStep, defaults: StepDefaults): MessageInitShape<typeof StepSchema> {
  return {
    name: step.name,
    timeoutSeconds: step.timeoutSeconds ?? defaults.timeoutSeconds,
    maxRetries: step.maxRetries ?? defaults.maxRetries,
    kind: kindMessage(step),
  };
}

/** Stored kinds and configurations are the JSON of the API. */
function kindMessage({ kind, config }: PlanStep): NonNullable<MessageInitShape<typeof StepSchema>['kind']> {
  const json = { [kind.replaceAll('-', '_')]: config } as JsonValue;
  return fromJson(StepSchema, json).kind as NonNullable<MessageInitShape<typeof StepSchema>['kind']>;
}
