import { z } from 'zod';
import { isUndone, STAGE_NAMES, type StageName } from '../../domain/workflow/stage.ts';
import type { StepKind } from '../step-kind.ts';
import { NODE_STAGES, type NodeStage } from './node-stages.ts';
import { UPSTREAM_STAGES, type UpstreamStage } from './upstream-stages.ts';

const config = z.object({
  stage: z.enum(STAGE_NAMES as [StageName, ...StageName[]]),
  pool: z.string().default(''),
  erase: z.boolean().default(false),
});
type Config = z.output<typeof config>;

function isUpstreamStage(stage: StageName): stage is UpstreamStage {
  return stage in UPSTREAM_STAGES;
}

/** A stage of a workflow (domain/workflow/stage.ts). */
export const workflowStage: StepKind<Config, 'upstream'> = {
  kind: 'stage',
  needs: ({ stage }) => (isUpstreamStage(stage) ? ['upstream'] : []),
  config: config as z.ZodType<Config>,
  title: 'Stage',
  doneTitle: 'Done',
  canUndo: ({ stage }) => isUndone(stage),
  handler: ({ stage, pool, erase }, environment) =>
    isUpstreamStage(stage)
      ? UPSTREAM_STAGES[stage](environment, { pool, erase })
      : NODE_STAGES[stage as NodeStage](environment),
};
