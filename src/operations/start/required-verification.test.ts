import { expect, it } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import { ONBOARDING } from '../../domain/workflow/stage.ts';
import type { StartRules } from './start-on-machine.ts';
import { onboarding, workflowRules } from './workflows.ts';

const stepsWith = (labels: Readonly<Record<string, string>>) => {
  const decided = workflowRules({ scope: null }, onboarding('pool-1')).decide({
    machine: sampleMachine({ labels, service: null }),
    checkSteps: () => {},
  } as unknown as Parameters<StartRules['decide']>[0]);
  return decided.steps.map(({ name }) => name);
};

it.each([
  [{}, ONBOARDING],
  [{ 'ingot/verify-hardware': 'no' }, ONBOARDING],
  [{ 'ingot/verify-hardware': 'required' }, ['verify-hardware', ...ONBOARDING]],
  [{ 'ingot/verify-hardware': '' }, ['verify-hardware', ...ONBOARDING]],
])('an onboarding of a machine with the labels %j has these steps', (labels, wanted) => {
  expect(stepsWith(labels)).toEqual(wanted);
});
