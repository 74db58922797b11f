import { durationText } from '../output/time-text.ts';
import type { Work } from '../work/work.ts';
import { elapsedMs } from '../work-rendering.ts';

/** The live line of one operation or run: step, percentage, elapsed time, and what it waits for. */
export function progressText(work: Work, now: number): string {
  const index = work.steps.findIndex(({ name }) => name === work.currentStep);
  const step = work.steps[index];
  const parts = [step === undefined ? `${work.type} ${work.phase}` : step.title];
  if (step !== undefined && work.steps.length > 1) parts.push(`step ${index + 1}/${work.steps.length}`);
  if (step !== undefined && step.progressPercent > 0) parts.push(`${step.progressPercent}%`);
  const elapsed = elapsedMs(work, now);
  if (elapsed !== undefined) parts.push(durationText(elapsed));
  const waitingFor = work.more?.waitingFor ?? '';
  if (work.cancelRequested) parts.push('canceling');
  else if (waitingFor !== '') parts.push(`waiting for ${waitingFor.replace(/^waiting for /, '')}`);
  return parts.join('  ');
}
