/**
 * The stages of document 3 that are MAAS's to carry out. Each looks at the machine in MAAS first: what has happened
 * already, by us or by somebody else, is adopted and not done again.
 */

import type { MaasStage, Stage } from '../upstream/upstream-environment.ts';
import { DEPLOYING_STAGES } from './deploying-stages.ts';
import { PREPARING_STAGES } from './preparing-stages.ts';
import { RELEASING_STAGES } from './releasing-stages.ts';

export const MAAS_STAGES: Readonly<Record<MaasStage, Stage>> = {
  ...PREPARING_STAGES,
  ...DEPLOYING_STAGES,
  ...RELEASING_STAGES,
};
