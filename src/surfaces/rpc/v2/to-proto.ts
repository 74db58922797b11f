/** Maps the domain to baremetal.v2. Enum names are the same on both sides, so the enums are the tables. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Agent } from '../../../domain/agent/agent.ts';
import { CONDITION_TYPES, type Conditions } from '../../../domain/condition/condition.ts';
import { upstreamDiffers } from '../../../domain/condition/drift.ts';
import type { Locating } from '../../../domain/hardware/locating.ts';
import { messageOfSummary } from '../../../domain/hardware/summary-message.ts';
import { availability } from '../../../domain/machine/availability.ts';
import { effectiveState } from '../../../domain/machine/effective-state.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { isMaintenanceOverdue, type Maintenance } from '../../../domain/machine/maintenance.ts';
import { schedulable } from '../../../domain/machine/schedulable.ts';
import { messageOfSpec } from '../../../domain/machine/spec/machine-spec.ts';
import type { Approval } from '../../../domain/operation/approval.ts';
import { currentStep, type Operation } from '../../../domain/operation/operation.ts';
import { PHASE_OF_STATUS } from '../../../domain/operation/operation-status.ts';
import type { Stall } from '../../../domain/operation/stall.ts';
import { overallProgress, retryCount, type Step } from '../../../domain/operation/step.ts';
import type { StepState } from '../../../domain/operation/step-state.ts';
import {
  type AgentSchema,
  type ConditionSchema,
  EffectiveState_Value,
  type LocatingSchema,
  type MachineSchema,
  MachineStatus_Phase,
  type MachineStatusSchema,
  type MaintenanceSchema,
} from '../../../gen/baremetal/v2/machine_pb.ts';
import {
  type ApprovalSchema,
  Operation_Phase,
  type OperationSchema,
  OperationType,
  StepStatus_State,
  type StepStatusSchema,
} from '../../../gen/baremetal/v2/operation_pb.ts';
import { NO_STALLS, type Stalls } from '../../../store/operations/stalled-operations.ts';
import { timestampOf, timestampOfText } from '../timestamp-message.ts';
import { stallMessage, stallOfOperation } from './stall-message.ts';

/** What is read beside a machine's row; nothing of it in the answer to a change. */
export interface BesideMachine {
  readonly agent?: Agent | undefined;
  readonly upstreamSeenAt?: Date | undefined;
  readonly stalls?: Stalls;
}

export function machineMessage(
  machine: Machine,
  beside: BesideMachine = {},
): MessageInitShape<typeof MachineSchema> {
  return {
    machineId: machine.machineId,
    labels: { ...machine.labels },
    spec: messageOfSpec(machine.spec),
    status: statusMessage(machine, beside),
    createdAt: timestampOf(machine.createdAt),
    updatedAt: timestampOf(machine.updatedAt),
  };
}

type StatusMessage = Exclude<
  MessageInitShape<typeof MachineStatusSchema>,
  { readonly $typeName: 'baremetal.v2.MachineStatus' }
>;

/** What most machines lack is added one by one: every machine of a page passes here. */
function statusMessage(machine: Machine, { agent, upstreamSeenAt, stalls }: BesideMachine): StatusMessage {
  const { available, reason: unavailableReason, message: unavailableMessage } = availability(machine);
  const { schedulable: isSchedulable, reason: unschedulableReason, message } = schedulable(machine);
  const status: StatusMessage = {
    phase: MachineStatus_Phase[machine.phase],
    effectiveState: EffectiveState_Value[effectiveState(machine)],
    activeOperationId: machine.activeOperationId ?? '',
    conditions: conditionMessages(machine.conditions),
    effectiveSince: timestampOf(machine.effectiveSince),
    service: machine.service ?? '',
    install: machine.install ?? '',
    presence: machine.presence ?? '',
    pool: machine.pool ?? '',
    schedulable: isSchedulable,
    unschedulableReason: unschedulableReason ?? '',
    unschedulableMessage: message,
    unavailableReason: unavailableReason ?? '',
    unavailableMessage,
    activeOperationType: machine.activeOperationType ?? '',
    lemonScore: machine.lemonScore,
  };
  const stall = machine.activeOperationId === null ? undefined : stalls?.get(machine.activeOperationId);
  if (machine.service !== null) status.serviceSince = timestampOf(machine.serviceSince);
  if (machine.install !== null) status.installSince = timestampOf(machine.installSince);
  if (available !== null) status.available = available;
  if (machine.enteredServiceAt !== null) status.enteredServiceAt = timestampOf(machine.enteredServiceAt);
  if (machine.maintenance !== null) status.maintenance = maintenanceMessage(machine, machine.maintenance);
  if (machine.locating !== null) status.locating = locatingMessage(machine.locating);
  if (stall !== undefined) status.stalled = stallMessage(stall);
  if (machine.hardware !== null) status.hardware = messageOfSummary(machine.hardware);
  if (agent !== undefined) status.agent = agentMessage(agent);
  if (machine.observed !== null)
    status.observed = {
      ...machine.observed,
      differs: upstreamDiffers(machine),
      at: timestampOfText(machine.observed.at),
      ...(upstreamSeenAt && { seenAt: timestampOf(upstreamSeenAt) }),
    };
  return status;
}

function conditionMessages(conditions: Conditions): MessageInitShape<typeof ConditionSchema>[] {
  const messages: MessageInitShape<typeof ConditionSchema>[] = [];
  for (const type of CONDITION_TYPES) {
    const condition = conditions[type];
    if (!condition) continue;
    const { status, reason, message } = condition;
    const lastTransition = timestampOfText(condition.lastTransition);
    messages.push({ type, status, reason, message, lastTransition });
  }
  return messages;
}

export function schedulableFields(machine: Machine) {
  const { schedulable: isSchedulable, reason, message } = schedulable(machine);
  return {
    schedulable: isSchedulable,
    unschedulableReason: reason ?? '',
    unschedulableMessage: message,
  };
}

export function locatingMessage(locating: Locating): MessageInitShape<typeof LocatingSchema> {
  const { since, until, by, problem } = locating;
  return {
    since: timestampOfText(since),
    until: timestampOfText(until),
    by,
    problem,
  };
}

function maintenanceMessage(
  machine: Machine,
  { since, until, reason, by, exitsByItself }: Maintenance,
): MessageInitShape<typeof MaintenanceSchema> {
  return {
    since: timestampOfText(since),
    ...(until !== null && { until: timestampOfText(until) }),
    ...{ reason, by, exitsByItself },
    overdue: isMaintenanceOverdue(machine, new Date()),
  };
}

export function availabilityFields(machine: Machine) {
  const { available, reason, message } = availability(machine);
  return {
    ...(available !== null && { available }),
    unavailableReason: reason ?? '',
    unavailableMessage: message,
  };
}

function agentMessage({ facts, registeredAt, vitals }: Agent): MessageInitShape<typeof AgentSchema> {
  const { agentVersion, lastKeepaliveAt, expiresAt, metrics } = vitals;
  return {
    ...(facts && {
      hostname: facts.hostname,
      cpuMillicores: BigInt(facts.cpuMillicores),
      memoryBytes: BigInt(facts.memoryBytes),
      gpuCount: facts.gpuCount,
      privateIp: facts.privateIp,
      gpus: facts.gpus.map(({ model, count }) => ({ model, count })),
    }),
    ...(registeredAt && { registeredAt: timestampOf(registeredAt) }),
    agentVersion,
    ...(lastKeepaliveAt && { lastKeepalive: timestampOf(lastKeepaliveAt) }),
    ...(expiresAt && { expiresAt: timestampOf(expiresAt) }),
    metrics: { ...metrics },
  };
}

const STEP_STATES = {
  waiting: StepStatus_State.WAITING,
  running: StepStatus_State.RUNNING,
  succeeded: StepStatus_State.SUCCEEDED,
  failed: StepStatus_State.FAILED,
  undone: StepStatus_State.UNDONE,
} as const satisfies Record<StepState, StepStatus_State>;

export function operationMessage(
  operation: Operation,
  stalls: Stalls = NO_STALLS,
): MessageInitShape<typeof OperationSchema> {
  const { error } = operation;
  const stall = stallOfOperation(operation, stalls);
  return {
    operationId: operation.operationId,
    machineId: operation.machineId,
    requestId: operation.requestId,
    type: OperationType[operation.type],
    phase: Operation_Phase[PHASE_OF_STATUS[operation.status]],
    params: { ...operation.params },
    ...(error && {
      error: {
        code: error.code,
        message: error.message,
        retryable: error.retryable,
        details: { step: error.step, attempts: String(error.attempts), failure_class: error.failureClass },
      },
    }),
    createdAt: timestampOf(operation.createdAt),
    ...(operation.startedAt && { startedAt: timestampOf(operation.startedAt) }),
    ...(operation.finishedAt && { finishedAt: timestampOf(operation.finishedAt) }),
    planId: operation.planId,
    steps: operation.steps.map((step) => stepMessage(step, stall)),
    ...(stall && { stalled: stallMessage(stall) }),
    currentStep: currentStep(operation)?.name ?? '',
    progressPercent: overallProgress(operation.steps),
    cancelRequested: operation.cancelRequested,
    startedBy: operation.startedBy,
    rolloutId: operation.rolloutId,
    status: operation.status,
    waitingFor: operation.waitingFor,
    ...(operation.approval && { approval: approvalMessage(operation.approval) }),
  };
}

function approvalMessage({
  expiresAt,
  decidedAt,
  ...same
}: Approval): MessageInitShape<typeof ApprovalSchema> {
  return {
    ...same,
    expiresAt: timestampOfText(expiresAt),
    ...(decidedAt && { decidedAt: timestampOfText(decidedAt) }),
  };
}

function stepMessage(step: Step, stall: Stall | null): MessageInitShape<typeof StepStatusSchema> {
  return {
    name: step.name,
    state: STEP_STATES[step.state],
    retryCount: retryCount(step),
    ...(step.startedAt && { startedAt: timestampOfText(step.startedAt) }),
    ...(step.finishedAt && { finishedAt: timestampOfText(step.finishedAt) }),
    message: step.message,
    kind: step.kind,
    progressPercent: step.progress,
    timeoutSeconds: step.timeoutSeconds,
    maxRetries: step.maxRetries,
    title: step.title,
    doneTitle: step.doneTitle,
    ...(stall?.step === step.name && { stalled: stallMessage(stall) }),
  };
}
