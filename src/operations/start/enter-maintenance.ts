import { defineStep } from '../../steps/registry.ts';
import { noParams, type Recipe } from './recipe.ts';

export const enterMaintenance: Recipe = {
  type: 'ENTER_MAINTENANCE',
  params: noParams,
  steps: () => [
    defineStep({
      name: 'enter-maintenance',
      kind: 'phase',
      config: { phase: 'MAINTENANCE' },
      timeoutSeconds: 60,
      maxRetries: 2,
      title: 'Entering maintenance',
      doneTitle: 'In maintenance',
    }),
  ],
};
