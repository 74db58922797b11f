import type { Operation, OperationProgress } from '../../domain/operation/operation.ts';
import type { Job } from '../../engine/job.ts';

/** The progress of an operation that an event stores, from the engine's operation. The steps have more, which is not stored. */
export function progressOf(operation: Job): OperationProgress {
  return {
    status: operation.status,
    current: operation.current,
    error: operation.error,
    waitingFor: operation.waitingFor,
    cancelRequested: operation.cancel !== null,
    startedAt: operation.startedAt,
    finishedAt: operation.finishedAt,
    steps: operation.steps,
  };
}

export function progressOfOperation(operation: Operation): OperationProgress {
  return {
    status: operation.status,
    current: operation.current,
    error: operation.error,
    waitingFor: operation.waitingFor,
    cancelRequested: operation.cancelRequested,
    ...(operation.approval && { approval: operation.approval }),
    startedAt: operation.startedAt?.toISOString() ?? null,
    finishedAt: operation.finishedAt?.toISOString() ?? null,
    steps: operation.steps,
  };
}

/** The operation as it was at the event: fields that never change from now, its progress from then. */
export function operationAt(operation: Operation, progress: OperationProgress): Operation {
  return {
    ...operation,
    ...progress,
    startedAt: progress.startedAt === null ? null : new Date(progress.startedAt),
    finishedAt: progress.finishedAt === null ? null : new Date(progress.finishedAt),
    steps: operation.steps.map((step, index) => ({ ...step, ...progress.steps[index] })),
  };
}
