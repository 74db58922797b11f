import type { Operation } from '../../gen/baremetal/v2/operation_pb.ts';
import { elapsedMs, phaseOf, titleOf, typeOf } from '../operation-rendering.ts';
import { durationText } from '../output/time-text.ts';

/** The live line of one operation: step, percentage, elapsed time, and what it waits for. */
export function progressText(operation: Operation, now: number): string {
  const index = operation.steps.findIndex(({ name }) => name === operation.currentStep);
  const step = operation.steps[index];
  const parts = [step === undefined ? `${typeOf(operation)} ${phaseOf(operation)}` : titleOf(step)];
  if (step !== undefined && operation.steps.length > 1)
    parts.push(`step ${index + 1}/${operation.steps.length}`);
  if (step !== undefined && step.progressPercent > 0) parts.push(`${step.progressPercent}%`);
  const elapsed = elapsedMs(operation, now);
  if (elapsed !== undefined) parts.push(durationText(elapsed));
  if (operation.cancelRequested) parts.push('canceling');
  else if (operation.waitingFor !== '') parts.push(`waiting for ${operation.waitingFor}`);
  return parts.join('  ');
}
