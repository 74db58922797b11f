import { defineStep } from '../../steps/registry.ts';
import { noParams, type Recipe } from './recipe.ts';

export const rebootMachine: Recipe = {
  type: 'REBOOT',
  params: noParams,
  steps: () => [
    defineStep({
      name: 'reboot',
      kind: 'reboot',
      config: { mode: 'bmc' },
      timeoutSeconds: 300,
      maxRetries: 1,
    }),
  ],
};
