import { z } from 'zod';
import {
  BOOT_SOURCE_NAMES,
  type BootOverrideRequest,
  type BootReading,
  bootPathProblem,
  isBootSet,
} from '../../domain/hardware/boot-override.ts';
import { callOf, type StepKind } from '../step-kind.ts';

const config = z
  .object({
    source: z.enum(BOOT_SOURCE_NAMES),
    lasts: z.enum(['once', 'always']).default('once'),
    mode: z.enum(['UEFI', 'Legacy']).nullable().default(null),
    path: z.string().default(''),
  })
  .superRefine((request, issues) => {
    const message = bootPathProblem(request);
    if (message !== null) issues.addIssue({ code: 'custom', path: ['path'], message });
  });

/** What the machine boots from next. Set is what the BMC says, not what was sent. */
export const overrideBoot: StepKind<BootOverrideRequest, 'bmc'> = {
  kind: 'boot-override',
  needs: () => ['bmc'],
  config: config as z.ZodType<BootOverrideRequest>,
  title: 'Setting the boot override',
  doneTitle: 'Boot override set',
  canUndo: false,
  handler: (request, { machine, capabilities: { bmc } }) => ({
    async observe(context) {
      const read = await bmc.bootOverride(callOf(context, machine));
      // What was just set counts also where the BMC shows another length, or has no other.
      const isSet =
        context.memo.set === context.attempt ? isBootSet(read, request) : isExactly(read, request);
      return isSet ? { seen: 'done', message: textOf(read) } : { seen: 'absent' };
    },
    async act(context) {
      await context.effect(() => bmc.setBootOverride(callOf(context, machine), request));
      await context.save({ set: context.attempt });
      return { result: 'started', reason: 'the boot override is being set', pollAfterMs: 0 };
    },
  }),
};

function isExactly(read: BootReading, request: BootOverrideRequest): boolean {
  if (!isBootSet(read, request)) return false;
  if (request.source === 'none') return true;
  return read.lasts === request.lasts && (request.mode === null || read.mode === request.mode);
}

/** "next boot from cd, once, UEFI" */
function textOf({ source, lasts, mode }: BootReading): string {
  if (source === 'none') return 'it boots as its firmware is set up';
  const length = lasts === 'always' ? 'every boot' : 'next boot';
  return `${length} from ${source}${mode === null ? '' : `, ${mode}`}`;
}
