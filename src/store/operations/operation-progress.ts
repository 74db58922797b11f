import type { Operation, OperationProgress } from '../../domain/operation/operation.ts';
import type { Step } from '../../domain/operation/step.ts';
import type { Job } from '../../engine/job.ts';

function stepProgress({ state, attempts, startedAt, finishedAt, message, progress }: Step) {
  return { state, attempts, startedAt, finishedAt, message, progress };
}

/** What an event keeps of the job that it tells about. */
export function progressOf(job: Job): OperationProgress {
  return {
    status: job.status,
    current: job.current,
    error: job.error,
    waitingFor: job.waitingFor,
    cancelRequested: job.cancel !== null,
    startedAt: job.startedAt,
    finishedAt: job.finishedAt,
    steps: job.steps.map(stepProgress),
  };
}

export function progressOfOperation(operation: Operation): OperationProgress {
  return {
    status: operation.status,
    current: operation.current,
    error: operation.error,
    waitingFor: operation.waitingFor,
    cancelRequested: operation.cancelRequested,
    startedAt: operation.startedAt?.toISOString() ?? null,
    finishedAt: operation.finishedAt?.toISOString() ?? null,
    steps: operation.steps.map(stepProgress),
  };
}

/** The operation as it was when the event happened: what never changes from now, the rest from then. */
export function operationAt(operation: Operation, progress: OperationProgress): Operation {
  return {
    ...operation,
    ...progress,
    startedAt: progress.startedAt === null ? null : new Date(progress.startedAt),
    finishedAt: progress.finishedAt === null ? null : new Date(progress.finishedAt),
    steps: operation.steps.map((step, index) => ({ ...step, ...progress.steps[index] })),
  };
}
