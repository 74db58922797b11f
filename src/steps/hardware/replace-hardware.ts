/**
 * Moves an identity to replacement hardware. What it went by before is remembered first, so that a cancel leads back to
 * it; once the replacement has been found to be the machine, it stays.
 */
import { z } from 'zod';
import { callOf, type StepKind, undoCallOf } from '../step-kind.ts';
import type { HardwareView } from './hardware-moves.ts';

const config = z.object({
  mac_addresses: z.array(z.string()).min(1),
  serial_number: z.string().default(''),
  system_uuid: z.string().default(''),
  bmc_endpoint: z.string().default(''),
  /** Of the caller who asked for it: no node outside of it is taken in. Empty: the whole fleet. */
  scope: z.string().default(''),
});
export type ReplacementConfig = z.output<typeof config>;
export const REPLACEMENT_CONFIG = config as z.ZodType<ReplacementConfig>;

export const replaceHardware: StepKind<ReplacementConfig, never> = {
  kind: 'replace-hardware',
  needs: () => [],
  config: REPLACEMENT_CONFIG,
  title: 'Moving the identity',
  doneTitle: 'Identity moved',
  canUndo: true,
  handler: (replacement, { machine, controlPlane }) => ({
    async observe(context) {
      const view = await controlPlane.hardware.read(callOf(context, machine));
      if (view === null || !isAsReplaced(view, replacement)) return { seen: 'absent' };
      return { seen: 'done', message: `it goes by ${replacement.mac_addresses.join(', ')}` };
    },
    async act(context) {
      const call = callOf(context, machine);
      if (context.memo.before === undefined)
        await context.save({ before: (await controlPlane.hardware.read(call)) ?? null });
      await context.effect(() => controlPlane.hardware.replace(call, replacement));
      context.log(`The machine goes by ${replacement.mac_addresses.join(', ')} now`);
      return { result: 'started', reason: 'moving the identity', pollAfterMs: 1 };
    },
    async undo(context) {
      const call = undoCallOf(context, machine);
      const before = context.memo.before as HardwareView | null | undefined;
      const view = await controlPlane.hardware.read(call);
      if (!before || view?.state !== 'migrating')
        return { result: 'done', message: view?.state === 'migrating' ? 'nothing was moved' : 'it stays' };
      await context.effect(() => controlPlane.hardware.restore(call, before));
      const message = `it goes by ${before.macAddresses.join(', ')} again`;
      context.log(message);
      return { result: 'done', message };
    },
  }),
};

function isAsReplaced(
  { state, macAddresses, bmcEndpoint }: HardwareView,
  wanted: ReplacementConfig,
): boolean {
  const isMoved = macAddresses.join() === wanted.mac_addresses.join();
  return (
    state === 'migrating' && isMoved && (wanted.bmc_endpoint === '' || bmcEndpoint === wanted.bmc_endpoint)
  );
}
