import { type OperationView, waitedFor } from '../operations/operation-view.ts';
import { durationText } from '../output/time-text.ts';
import { elapsedMs } from '../rendering/operation-rendering.ts';

/** The live line of an operation: step, percentage, elapsed time, and what it waits for. */
export function progressText(operation: OperationView, now: number): string {
  const index = operation.steps.findIndex(({ name }) => name === operation.currentStep);
  const step = operation.steps[index];
  const parts = [step === undefined ? `${operation.type} ${operation.phase}` : step.title];
  if (step !== undefined && operation.steps.length > 1)
    parts.push(`step ${index + 1}/${operation.steps.length}`);
  if (step !== undefined && step.progressPercent > 0) parts.push(`${step.progressPercent}%`);
  const elapsed = elapsedMs(operation, now);
  if (elapsed !== undefined) parts.push(durationText(elapsed));
  const waitingFor = operation.more?.waitingFor ?? '';
  if (operation.cancelRequested) parts.push('canceling');
  else if (waitingFor !== '') parts.push(waitText(waitingFor));
  return parts.join('  ');
}

/** Reasons come with or without these words. */
export function waitText(reason: string): string {
  return `waiting for ${waitedFor(reason)}`;
}
