/** baremetal.fleet.v1.RolloutService: changes of many machines as one durable object, and disruption budgets. */
import { RolloutService } from '../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { defineService, type Service } from '../service.ts';
import { budgetHandlers } from './budget-handlers.ts';
import { actionHandlers } from './rollout/action-handlers.ts';
import { previewHandlers } from './rollout/preview-handlers.ts';
import { readHandlers } from './rollout/read-handlers.ts';
import { watchRollout } from './rollout/watch-rollout.ts';

export function rolloutService(dependencies: ServerDependencies): Service {
  return defineService(
    RolloutService,
    {
      ...previewHandlers(dependencies),
      ...readHandlers(dependencies),
      ...actionHandlers(dependencies),
      watchRollout: (request, context) => watchRollout(dependencies, request, context),
      ...budgetHandlers(dependencies),
    },
    {
      previewRollout: 'viewer',
      createRollout: 'operator',
      getRollout: 'viewer',
      listRollouts: 'viewer',
      watchRollout: 'viewer',
      listRolloutMachines: 'viewer',
      pauseRollout: 'operator',
      resumeRollout: 'operator',
      abortRollout: 'operator',
      approveWave: 'operator',
      rejectWave: 'operator',
      retryFailed: 'operator',
      skipMachines: 'operator',
      updateLimits: 'operator',
      rollBack: 'operator',
      createBudget: 'admin',
      listBudgets: 'viewer',
      deleteBudget: 'admin',
    },
  );
}
