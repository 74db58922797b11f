/**
 * The stages that the machine's upstream carries out (docs/maas.md). Each observes the machine there first: what has
 * happened already, by us or by another user, is adopted and not done again.
 */
import type { DecommissionStage, OnboardingStage } from '../../domain/workflow/stage.ts';
import type { UpstreamEnvironment } from '../upstream/upstream-environment.ts';
import { DEPLOYING_STAGES } from './deploying-stages.ts';
import { PREPARING_STAGES } from './preparing-stages.ts';
import { RELEASING_STAGES } from './releasing-stages.ts';
import type { StageHandler } from './stage-result.ts';

export type UpstreamStage =
  | OnboardingStage
  | Extract<DecommissionStage, 'release_maas_node' | 'power_off_maas_node' | 'remove_maas_record'>;

export interface StageConfig {
  readonly pool: string;
  readonly erase: boolean;
}

export type Stage = (environment: UpstreamEnvironment, config: StageConfig) => StageHandler;

export const UPSTREAM_STAGES: Readonly<Record<UpstreamStage, Stage>> = {
  ...PREPARING_STAGES,
  ...DEPLOYING_STAGES,
  ...RELEASING_STAGES,
};
