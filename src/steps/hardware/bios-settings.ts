import { z } from 'zod';
import type { StepKind } from '../step-kind.ts';
import { settingsStep } from './settings-step.ts';

const MAX_ATTRIBUTES = 500;
const NAME = /^[\p{L}\p{N}_.:/()# -]{1,200}$/u;

const config = z.object({
  attributes: z
    .record(
      z.string().regex(NAME, 'must be the name of an attribute'),
      z.union([z.string().max(1000), z.number(), z.boolean()], 'must be a text, a number, true or false'),
    )
    .refine((all) => Object.keys(all).length > 0, 'must name at least one attribute')
    .refine((all) => Object.keys(all).length <= MAX_ATTRIBUTES, `must be at most ${MAX_ATTRIBUTES}`),
});
type Config = z.output<typeof config>;

/** BIOS attributes as wanted: staged, taken over by a reset, read back. Nothing is done where they are as wanted. */
export const biosSettings: StepKind<Config, 'bios' | 'power'> = {
  kind: 'bios-settings',
  needs: () => ['bios', 'power'],
  config: config as z.ZodType<Config>,
  title: 'Changing BIOS settings',
  doneTitle: 'BIOS settings as wanted',
  canUndo: true,
  handler: ({ attributes }, environment) =>
    settingsStep(environment, environment.capabilities.bios, attributes),
};
