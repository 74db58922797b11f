import { z } from 'zod';
import { callOf, type StepKind, undoCallOf } from './step-kind.ts';

const config = z.object({ mode: z.enum(['PXE', 'DISK']).default('PXE'), image: z.string().default('') });
type Config = z.output<typeof config>;

/** The boot device is read back: set is what the machine says, not what was sent. */
export const setNetboot: StepKind<Config, 'netboot'> = {
  kind: 'netboot',
  needs: () => ['netboot'],
  config: config as z.ZodType<Config>,
  title: 'Setting netboot',
  doneTitle: 'Netboot configured',
  canUndo: true,
  handler: ({ mode, image }, { machine, can }) => {
    const wanted = mode === 'PXE' ? 'pxe' : 'disk';
    return {
      async observe(context) {
        const boot = await can.netboot.bootDevice(callOf(context, machine));
        if (boot.pending) {
          return { seen: 'under_way', reason: 'the boot device is being set', lookAgainMs: boot.lookAgainMs };
        }
        // A boot from the network that would serve another image is not what was asked for.
        const servesOurs = mode === 'DISK' || image === '' || boot.image === null || boot.image === image;
        if (boot.device === wanted && servesOurs)
          return { seen: 'done', message: `next boot from ${wanted}` };
        return { seen: 'absent' };
      },
      async act(context) {
        await context.effect(() => can.netboot.setBootDevice(callOf(context, machine), wanted, image));
        return { result: 'started', reason: 'the boot device is being set', lookAgainMs: 0 };
      },
      async undo(context) {
        const call = undoCallOf(context, machine);
        const boot = await can.netboot.bootDevice(call);
        if (boot.device === 'disk' && !boot.pending)
          return { result: 'done', message: 'next boot from disk' };
        const reason = 'the boot device is being set back';
        if (boot.pending && context.memo.settingBack === context.attempt)
          return { result: 'started', reason, lookAgainMs: Math.max(20, boot.lookAgainMs) };
        // What is still pending is what has to be taken back, and it may never end by itself.
        await context.save({ settingBack: context.attempt });
        await context.effect(() => can.netboot.setBootDevice(call, 'disk', ''));
        return { result: 'started', reason, lookAgainMs: 20 };
      },
    };
  },
};
