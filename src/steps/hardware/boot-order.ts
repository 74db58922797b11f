import { z } from 'zod';
import type { StepKind } from '../step-kind.ts';
import { settingsStep } from './settings-step.ts';

const MAX_OPTIONS = 100;

const config = z.object({
  order: z
    .array(z.string().min(1, 'must not be empty').max(1000, 'must be at most 1000 characters'))
    .min(1, 'must name at least one boot option')
    .max(MAX_OPTIONS, `must be at most ${MAX_OPTIONS}`),
});
type Config = z.output<typeof config>;

/** The lasting boot order of the firmware, read back. Options that it does not name follow in the order that they had. */
export const bootOrder: StepKind<Config, 'bootOrder' | 'power'> = {
  kind: 'boot-order',
  needs: () => ['bootOrder', 'power'],
  config: config as z.ZodType<Config>,
  title: 'Changing the boot order',
  doneTitle: 'Boot order as wanted',
  canUndo: true,
  handler: ({ order }, environment) => settingsStep(environment, environment.capabilities.bootOrder, order),
};
