/**
 * What the end of an operation does to its machine. The operation carries the name of its policy, because the APIs promise
 * different things: an operation of the v2 API never changes the phase when it fails or is canceled
 * (docs/operations-api.md), a run of the v1 API does (docs/api-v1.md).
 */
import { type ConditionChange, ONBOARD_CANCELED } from '../condition/condition.ts';
import { isUnsafe } from '../condition/intervention.ts';
import type { MachineChange } from '../machine/machine-change.ts';
import { CLEANUP_STAGES, DRAINING_STAGES } from '../workflow/stage.ts';
import type { OperationStatus } from './operation-status.ts';
import { OPERATION_TYPE_NAMES, type OperationType } from './operation-type.ts';

export type CompletionPolicyName =
  | 'operation'
  | 'run'
  | 'onboarding'
  | 'decommission'
  | 'removal'
  | 'inspection';

/** What a policy decides by. */
export interface Ending {
  readonly operationId: string;
  readonly type: OperationType;
  readonly status: OperationStatus;
  readonly failedStep: string;
  readonly failureCode: string;
  readonly failure: string;
  readonly canceledBy: string;
  /** Whether its stages retire the node, and do not only clean it. */
  readonly retires: boolean;
}

type EndKind = 'succeeded' | 'failed' | 'canceled';

/** The runs after whose success a machine is ready for use; any other leaves the phase as it is. */
const RUN_MAKES_READY: ReadonlySet<OperationType> = new Set(['REIMAGE', 'JOIN']);

const COMPLETION_POLICIES = {
  operation: {
    succeeded: (ending) => ({ conditions: [noAttention(ending), notCanceled(ending)] }),
    failed: (ending) => ({ conditions: [attention(ending), notCanceled(ending)] }),
    canceled: (ending) => ({ conditions: [canceled(ending)] }),
  },
  run: {
    succeeded: (ending) => ({
      ...(RUN_MAKES_READY.has(ending.type) ? { phase: 'READY' } : {}),
      conditions: [
        ...(ending.type === 'RMA' ? [takenOut(ending)] : []),
        noAttention(ending),
        notCanceled(ending),
      ],
    }),
    failed: (ending) => ({ phase: 'MAINTENANCE', conditions: [attention(ending), notCanceled(ending)] }),
    canceled: (ending) => ({ phase: 'MAINTENANCE', conditions: [canceled(ending)] }),
  },
  onboarding: {
    // A new machine becomes READY; one in maintenance stays there until an operator ends the maintenance.
    succeeded: (ending) => ({
      phase: { to: 'READY', from: ['FACTORY_READY'] },
      service: {
        to: 'active',
        owner: 'onboarding',
        from: ['enrolling'],
        // A machine that is onboarded again is offline, and its agent has just reported.
        otherwise: { to: 'active', owner: 'heartbeat', from: ['offline'] },
      },
      conditions: [deployed(ending), noAttention(ending), notCanceled(ending)],
    }),
    failed: (ending) => ({
      ...(isUnsafe(ending.failureCode) ? quarantines(ending) : {}),
      conditions: [attention(ending), notCanceled(ending)],
    }),
    // What was started is undone: nothing is left that needs an operator.
    canceled: (ending) => ({
      conditions: [givenUp(ending), { ...canceled(ending), reason: ONBOARD_CANCELED }],
    }),
  },
  // A node is never left draining or removing without an operation that owns it.
  decommission: {
    succeeded: (ending) => ({
      service: ending.retires ? OFFLINE : { ...OFFLINE, otherwise: CLEANED },
      conditions: [noAttention(ending), notCanceled(ending)],
    }),
    failed: (ending) => ({
      service: whereItFailed(ending),
      conditions: [attention(ending), notCanceled(ending)],
    }),
    // A cleanup that was stopped half-way needs an operator; a drain does not.
    canceled: (ending) => ({
      service: ending.type === 'DECOMMISSION' ? quarantinedBecause(halfCleaned(ending).message) : GIVEN_BACK,
      conditions: [canceled(ending), ...(ending.type === 'DECOMMISSION' ? [halfCleaned(ending)] : [])],
    }),
  },
  removal: {
    succeeded: (ending) => ({ conditions: [noAttention(ending), notCanceled(ending)] }),
    failed: (ending) => ({ ...stopsRemoving(), conditions: [attention(ending), notCanceled(ending)] }),
    canceled: (ending) => ({ ...stopsRemoving(), conditions: [canceled(ending)] }),
  },
  // It changed nothing on the machine, so its failure says nothing of the machine.
  inspection: { succeeded: () => ({}), failed: () => ({}), canceled: () => ({}) },
} as const satisfies Record<CompletionPolicyName, Record<EndKind, (ending: Ending) => MachineChange>>;

/** An RMA run ends with the RMA flag, whatever its plan. The flag has precedence over the phase, which stays as it is. */
function takenOut({ operationId }: Ending): ConditionChange {
  return { type: 'RMA', status: true, reason: 'RmaRun', message: `taken out by RMA ${operationId}` };
}

function deployed(ending: Ending): ConditionChange {
  const message = `${ending.type} ${ending.operationId} saw it deployed`;
  return { type: 'Provisioned', status: true, reason: 'Deployed', message };
}

function quarantines({ failure }: Ending): MachineChange {
  return { service: { to: 'quarantined', owner: 'onboarding', from: ['enrolling'], comment: failure } };
}

function halfCleaned(ending: Ending): ConditionChange {
  return {
    type: 'NeedsIntervention',
    status: true,
    reason: failureReason(ending.type),
    message: `${ending.type} ${ending.operationId} was canceled: the node may be half cleaned`,
  };
}

type ServiceChange = NonNullable<MachineChange['service']>;

const OFFLINE = { to: 'offline', owner: 'drain', from: ['draining'] } as const satisfies ServiceChange;
const RETIRED = { to: 'retired', owner: 'removal', from: ['removing'] } as const satisfies ServiceChange;
/** A decommission may have reached the removal. */
const GIVEN_BACK = { ...OFFLINE, otherwise: RETIRED } as const satisfies ServiceChange;
const DRAINED = {
  to: 'retired',
  owner: 'drain',
  from: ['draining'],
  otherwise: RETIRED,
} as const satisfies ServiceChange;
/** A failed cleanup leaves the machine retired; after one that succeeds, its identity is used again. */
const CLEANED = {
  to: 'offline',
  owner: 'admin',
  from: ['retired'],
  comment: 'cleaned',
} as const satisfies ServiceChange;

function stopsRemoving(): MachineChange {
  return { service: RETIRED };
}

/** There is no transition from draining to quarantined: two are made at once. */
function quarantinedBecause(comment: string): ServiceChange {
  return { ...GIVEN_BACK, andThen: { to: 'quarantined', owner: 'reconciler', from: ['offline'], comment } };
}

/**
 * Where a failed decommission leaves the node (docs/maas.md). A node that is not drained is offline. A drained one is retired: it
 * keeps its identity, and the operation can be resumed. It is quarantined only where an operator must act first and data of
 * the last tenant may be left on it.
 */
function whereItFailed({ type, status, failedStep, failure }: Ending): ServiceChange {
  const isBlocked = status === 'failed_manual_intervention';
  if (type === 'DRAIN') return GIVEN_BACK;
  if (isAmong(DRAINING_STAGES, failedStep)) return isBlocked ? quarantinedBecause(failure) : GIVEN_BACK;
  return isBlocked && isAmong(CLEANUP_STAGES, failedStep) ? quarantinedBecause(failure) : DRAINED;
}

function isAmong(stages: readonly string[], stage: string): boolean {
  return stages.includes(stage);
}

const END_OF_STATUS = {
  pending: null,
  running: null,
  compensating: null,
  completed: 'succeeded',
  reconciled: 'succeeded',
  failed_retryable: 'failed',
  failed_manual_intervention: 'failed',
  cancelled: 'canceled',
} as const satisfies Record<OperationStatus, EndKind | null>;

export function changeAtEnd(completionPolicy: CompletionPolicyName, ending: Ending): MachineChange | null {
  const end = END_OF_STATUS[ending.status];
  return end === null ? null : COMPLETION_POLICIES[completionPolicy][end](ending);
}

function failureReason(type: OperationType): string {
  return `${type
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join('')}Failed`;
}

function attention(ending: Ending): ConditionChange {
  return {
    type: 'NeedsIntervention',
    status: true,
    reason: failureReason(ending.type),
    message: `${ending.type} ${ending.operationId} failed at ${ending.failedStep}: ${ending.failure}`,
    // A disk that may be half written stays the reason until an image has been written.
    ...(ending.type === 'REIMAGE' ? {} : { unlessReason: [failureReason('REIMAGE')] }),
  };
}

/**
 * Clears the attention of an earlier failure of the same type. A new image clears that of every type; nothing else does: a
 * reboot that works proves nothing about a disk that was half written.
 */
function noAttention(ending: Ending): ConditionChange {
  const answered = ending.type === 'REIMAGE' ? OPERATION_TYPE_NAMES : [ending.type];
  return {
    type: 'NeedsIntervention',
    status: false,
    reason: 'OperationSucceeded',
    message: `${ending.type} ${ending.operationId} succeeded`,
    ifReason: answered.map(failureReason),
  };
}

/** Clears the attention of its own failure, and of no other. */
function givenUp(ending: Ending): ConditionChange {
  return {
    type: 'NeedsIntervention',
    status: false,
    reason: 'OperationCanceled',
    message: `${ending.type} ${ending.operationId} was given up`,
    ifReason: [failureReason(ending.type)],
  };
}

function canceled(ending: Ending): ConditionChange {
  const by = ending.canceledBy === '' ? '' : ` by ${ending.canceledBy}`;
  return {
    type: 'OperationCanceled',
    status: true,
    reason: 'Canceled',
    message: `${ending.type} ${ending.operationId} was canceled${by}`,
  };
}

function notCanceled(ending: Ending): ConditionChange {
  return {
    type: 'OperationCanceled',
    status: false,
    reason: 'LaterOperationEnded',
    message: `${ending.type} ${ending.operationId} ran to its end`,
  };
}
