/** Machines whose hardware must be as expected before they are onboarded or repaved: a label of theirs requires it as a first step. */
import type { Machine } from '../../domain/machine/machine.ts';
import type { StepDefinition } from '../../domain/operation/step.ts';
import { defineStep } from '../../steps/registry.ts';

const LABEL = 'ingot/verify-hardware';

const VERIFICATION = defineStep({
  name: 'verify-hardware',
  kind: 'verify-hardware',
  config: {},
  timeoutSeconds: 60,
  maxRetries: 0,
});

/** The steps with the verification before them, where the machine requires it and they have none. Any value but `no` requires it. */
export function withRequiredVerification(
  { labels }: Pick<Machine, 'labels'>,
  steps: readonly StepDefinition[],
): readonly StepDefinition[] {
  const isRequired = labels[LABEL] !== undefined && labels[LABEL] !== 'no';
  const hasOne = steps.some(({ kind, name }) => kind === VERIFICATION.kind || name === VERIFICATION.name);
  return isRequired && !hasOne ? [VERIFICATION, ...steps] : steps;
}
