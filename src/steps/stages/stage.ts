import { z } from 'zod';
import { isUndone, STAGE_NAMES, type StageName } from '../../domain/workflow/stage.ts';
import type { StepKind } from '../step-kind.ts';
import type { MaasStage } from '../upstream/upstream-environment.ts';
import { SERVICE_STAGES, type ServiceStage } from './node-stages.ts';
import { MAAS_STAGES } from './upstream-stages.ts';

const config = z.object({
  stage: z.enum(STAGE_NAMES as [StageName, ...StageName[]]),
  pool: z.string().default(''),
  erase: z.boolean().default(false),
});
type Config = z.output<typeof config>;

function isMaasStage(stage: StageName): stage is MaasStage {
  return stage in MAAS_STAGES;
}

/** A stage of document 3's workflows. */
export const workflowStage: StepKind<Config, 'maas'> = {
  kind: 'stage',
  needs: ({ stage }) => (isMaasStage(stage) ? ['maas'] : []),
  config: config as z.ZodType<Config>,
  title: 'Stage',
  doneTitle: 'Done',
  canUndo: ({ stage }) => isUndone(stage),
  handler: ({ stage, pool, erase }, environment) =>
    isMaasStage(stage)
      ? MAAS_STAGES[stage](environment, { pool, erase })
      : SERVICE_STAGES[stage as ServiceStage](environment),
};
