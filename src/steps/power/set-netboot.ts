import { z } from 'zod';
import type { Machine } from '../../domain/machine/machine.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepHandler } from '../../engine/step-handler.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import { callOf, type StepKind, undoCallOf } from '../step-kind.ts';

const config = z.object({
  mode: z.enum(['PXE', 'DISK', 'CD', 'BIOS', 'NONE']).default('PXE'),
  image: z.string().default(''),
});
type Config = z.output<typeof config>;

const DEVICES = {
  PXE: 'pxe',
  DISK: 'disk',
  CD: 'cd',
  BIOS: 'bios',
  NONE: 'none',
} as const satisfies Record<Config['mode'], string>;

/** The boot device is read back: set is what the machine says, not what was sent. */
export const setNetboot: StepKind<Config, 'netboot'> = {
  kind: 'netboot',
  needs: () => ['netboot'],
  config: config as z.ZodType<Config>,
  title: 'Setting netboot',
  doneTitle: 'Netboot configured',
  canUndo: true,
  handler: ({ mode, image }, { machine, capabilities }) => {
    const wanted = DEVICES[mode];
    const { netboot } = capabilities;
    if ('confirm' in netboot) return confirmed(machine, (call) => netboot.confirm(call, wanted, image));
    return {
      async observe(context) {
        const boot = await netboot.bootDevice(callOf(context, machine));
        if (boot.pending) {
          return { seen: 'under_way', reason: 'the boot device is being set', pollAfterMs: boot.pollAfterMs };
        }
        // A boot from the network that would serve another image is not what was asked for.
        const servesOurs = mode !== 'PXE' || image === '' || boot.image === null || boot.image === image;
        if (boot.device === wanted && servesOurs)
          return { seen: 'done', message: `next boot from ${wanted}` };
        return { seen: 'absent' };
      },
      async act(context) {
        await context.effect(() => netboot.setBootDevice(callOf(context, machine), wanted, image));
        return { result: 'started', reason: 'the boot device is being set', pollAfterMs: 0 };
      },
      async undo(context) {
        const call = undoCallOf(context, machine);
        const boot = await netboot.bootDevice(call);
        if (boot.device === 'disk' && !boot.pending)
          return { result: 'done', message: 'next boot from disk' };
        const reason = 'the boot device is being set back';
        if (boot.pending && context.memo.settingBack === context.attempt)
          return { result: 'started', reason, pollAfterMs: Math.max(20, boot.pollAfterMs) };
        // What is still pending is what has to be taken back, and it may never end by itself.
        await context.save({ settingBack: context.attempt });
        await context.effect(() => netboot.setBootDevice(call, 'disk', ''));
        return { result: 'started', reason, pollAfterMs: 20 };
      },
    };
  },
};

/** Its upstream boots the machine as it needs: nothing is set, and nothing has to be set back. */
function confirmed(
  machine: Machine,
  confirm: (call: ProviderCall) => Promise<string>,
): StepHandler<MachineChange> {
  return {
    observe: async (context) => ({ seen: 'done', message: await confirm(callOf(context, machine)) }),
    act: async () => {
      throw new TypeError('there is nothing to set');
    },
    undo: async () => ({ result: 'done', message: 'nothing was set' }),
  };
}
