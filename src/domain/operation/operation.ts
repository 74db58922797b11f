import type { FailureClass } from '../error/failure-class.ts';
import type { Approval } from './approval.ts';
import type { CompletionPolicyName } from './completion-policy.ts';
import { isActive, type OperationStatus } from './operation-status.ts';
import type { OperationType } from './operation-type.ts';
import type { Step } from './step.ts';

export interface OperationError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly failureClass: FailureClass;
  readonly step: string;
  readonly attempts: number;
}

export interface Operation {
  readonly operationId: string;
  readonly machineId: string;
  readonly requestId: string;
  readonly type: OperationType;
  readonly status: OperationStatus;
  readonly planId: string;
  /** The policy by which its end changes the machine. */
  readonly completionPolicy: CompletionPolicyName;
  readonly params: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
  /** Index of the current step; steps.length when all are done. */
  readonly current: number;
  readonly error: OperationError | null;
  readonly waitingFor: string;
  /** Null where no rule asks for one. */
  readonly approval: Approval | null;
  readonly cancelRequested: boolean;
  readonly startedBy: string;
  /** The rollout that it is part of; empty: it was started alone. */
  readonly rolloutId: string;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** The part of an operation that changes; each event keeps it as it was right after the change. */
export type OperationProgress = Pick<
  Operation,
  'status' | 'current' | 'error' | 'waitingFor' | 'cancelRequested'
> & {
  /** Only in the events of an approval. */
  readonly approval?: Approval;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly steps: readonly Pick<
    Step,
    'state' | 'attempts' | 'startedAt' | 'finishedAt' | 'message' | 'progress'
  >[];
};

/** The running step; none before the first starts and after the operation has ended. */
export function currentStep(operation: Pick<Operation, 'status' | 'steps' | 'current'>): Step | undefined {
  const step = isActive(operation.status) ? operation.steps[operation.current] : undefined;
  return step?.state === 'waiting' ? undefined : step;
}
