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

/**
 * The operation as it was at the event: fields that never change from now, its progress from then. Every event that is watched passes here, and two
 * spreads take fifty times as long as the fields (docs/decisions/0092-spreads.md).
 */
export function operationAt(operation: Operation, progress: OperationProgress): Operation {
  return {
    operationId: operation.operationId,
    machineId: operation.machineId,
    requestId: operation.requestId,
    type: operation.type,
    status: progress.status,
    planId: operation.planId,
    completionPolicy: operation.completionPolicy,
    params: operation.params,
    steps: operation.steps.map((step, index) => Object.assign({}, step, progress.steps[index])),
    current: progress.current,
    error: progress.error,
    waitingFor: progress.waitingFor,
    approval: progress.approval ?? operation.approval,
    cancelRequested: progress.cancelRequested,
    startedBy: operation.startedBy,
    rolloutId: operation.rolloutId,
    createdAt: operation.createdAt,
    startedAt: progress.startedAt === null ? null : new Date(progress.startedAt),
    finishedAt: progress.finishedAt === null ? null : new Date(progress.finishedAt),
  };
}
