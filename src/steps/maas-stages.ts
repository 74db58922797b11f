/**
 * The stages of document 3 that are MAAS's to carry out. Each looks at the machine in MAAS first: what has happened
 * already, by us or by somebody else, is adopted and not done again.
 */
import { DEPLOYING_STAGES } from './maas-deploying-stages.ts';
import { PREPARING_STAGES } from './maas-preparing-stages.ts';
import { RELEASING_STAGES } from './maas-releasing-stages.ts';
import type { MaasStage, Stage } from './maas-step-environment.ts';

export const MAAS_STAGES: Readonly<Record<MaasStage, Stage>> = {
  ...PREPARING_STAGES,
  ...DEPLOYING_STAGES,
  ...RELEASING_STAGES,
};
