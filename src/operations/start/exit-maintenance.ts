import { defineStep } from '../../steps/registry.ts';
import { noParams, type Recipe } from './recipe.ts';

export const exitMaintenance: Recipe = {
  type: 'EXIT_MAINTENANCE',
  params: noParams,
  steps: () => [
    defineStep({
      name: 'exit-maintenance',
      kind: 'phase',
      config: { phase: 'READY' },
      timeoutSeconds: 60,
      maxRetries: 2,
      title: 'Exiting maintenance',
      doneTitle: 'Back in service',
    }),
  ],
};
