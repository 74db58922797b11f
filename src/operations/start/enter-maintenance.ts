import { maintenanceOrder, maintenanceParams } from '../../domain/machine/maintenance.ts';
import { defineStep } from '../../steps/registry.ts';
import type { Recipe } from './recipe.ts';

export const enterMaintenance: Recipe = {
  type: 'ENTER_MAINTENANCE',
  params: maintenanceParams,
  steps: (_machine, params, _provider, startedBy) => [
    defineStep({
      name: 'enter-maintenance',
      kind: 'phase',
      config: { phase: 'MAINTENANCE', maintenance: maintenanceOrder(params, startedBy) },
      timeoutSeconds: 60,
      maxRetries: 2,
      title: 'Entering maintenance',
      doneTitle: 'In maintenance',
    }),
  ],
};
