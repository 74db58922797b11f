import { z } from 'zod';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Observation } from '../../engine/step-handler.ts';
import { callOf, type StepKind } from '../step-kind.ts';

const config = z.object({});
type Config = z.output<typeof config>;

/** What is known of the hardware is what every profile that applies expects. It reads what was recorded, and nothing else. */
export const verifyHardware: StepKind<Config, never> = {
  kind: 'verify-hardware',
  needs: () => [],
  config: config as z.ZodType<Config>,
  title: 'Verifying the hardware',
  doneTitle: 'Hardware as expected',
  canUndo: true,
  handler: (_config, { machine, controlPlane: { inventories } }) => ({
    async observe(context): Promise<Observation<MachineChange>> {
      const verdict = await inventories.verdict(callOf(context, machine));
      const problem = problemOf(verdict);
      for (const difference of verdict?.differences ?? []) context.log(difference, 'stderr');
      if (problem === null)
        return { seen: 'done', message: `as expected by ${verdict?.profiles.join(', ')}` };
      return {
        seen: 'failed',
        failure: { class: 'needs_human', code: 'HARDWARE_MISMATCH', message: problem },
      };
    },
    act: async () => {
      throw new TypeError('there is nothing to do: it only compares');
    },
    undo: async () => ({ result: 'done', message: 'nothing was changed' }),
  }),
};

function problemOf(
  verdict: { profiles: readonly string[]; differences: readonly string[] } | null,
): string | null {
  if (verdict === null) return 'nothing is known of its hardware: inspect it first';
  if (verdict.profiles.length === 0) return 'no hardware profile applies to it';
  return verdict.differences.length === 0 ? null : verdict.differences.join('; ');
}
