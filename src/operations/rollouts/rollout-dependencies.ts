import type { StartRunDependencies } from '../start/start-run.ts';
import type { WorkflowDependencies } from '../start/workflows.ts';

/** What rollouts are created, executed and changed with. */
export interface RolloutDependencies extends StartRunDependencies, WorkflowDependencies {
  readonly newRolloutId: () => string;
  readonly now: () => Date;
}
