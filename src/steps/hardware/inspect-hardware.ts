import { z } from 'zod';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepHandler } from '../../engine/step-handler.ts';
import { callOf, type StepEnvironment, type StepKind } from '../step-kind.ts';
import { checkInBand, inspectInBand } from './inspect-in-band.ts';
import { inspected } from './inspected-hardware.ts';

const config = z.object({ in_band: z.boolean('must be true or false').default(false) });
type Config = z.output<typeof config>;

/**
 * Reads the machine's hardware and records it: through its BMC, which changes nothing on the machine, or in band by Ingot's installer,
 * which the machine boots for it.
 */
export const inspectHardware: StepKind<Config, 'inventory' | 'burnIn'> = {
  kind: 'inspect',
  needs: ({ in_band: isInBand }) => (isInBand ? ['burnIn'] : ['inventory']),
  config: config as z.ZodType<Config>,
  title: 'Reading the hardware',
  doneTitle: 'Hardware read',
  complete: (request, machine) => {
    if (request.in_band) checkInBand(machine);
    return request;
  },
  canUndo: true,
  handler: ({ in_band: isInBand }, environment) =>
    isInBand ? inspectInBand(environment) : inspectByBmc(environment),
};

function inspectByBmc({
  machine,
  capabilities: { inventory },
  controlPlane: { inventories },
}: StepEnvironment<'inventory'>): StepHandler<MachineChange> {
  return {
    async observe(context) {
      const recorded = await inventories.recordedBy(callOf(context, machine), 'bmc');
      return recorded === null ? { seen: 'absent' } : inspected(context, recorded, 'the BMC');
    },
    async act(context) {
      const call = callOf(context, machine);
      const found = await inventory.readHardware(call);
      await context.effect(() => inventories.record(call, 'bmc', found));
      return { result: 'started', reason: 'the hardware is being recorded', pollAfterMs: 0 };
    },
    undo: async () => ({ result: 'done', message: 'nothing was changed' }),
  };
}
