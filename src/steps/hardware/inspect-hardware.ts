import { z } from 'zod';
import { INVENTORY_SECTIONS } from '../../domain/hardware/inventory-section.ts';
import type { HardwareInventory } from '../../domain/install/hardware-inventory.ts';
import { callOf, type StepKind } from '../step-kind.ts';

const config = z.object({});
type Config = z.output<typeof config>;

/** Reads the machine's hardware through its BMC and records it. Changes nothing on the machine. */
export const inspectHardware: StepKind<Config, 'inventory'> = {
  kind: 'inspect',
  needs: () => ['inventory'],
  config: config as z.ZodType<Config>,
  title: 'Reading the hardware',
  doneTitle: 'Hardware read',
  canUndo: true,
  handler: (_config, { machine, capabilities: { inventory }, controlPlane: { inventories } }) => ({
    async observe(context) {
      const recorded = await inventories.recordedBy(callOf(context, machine));
      if (recorded === null) return { seen: 'absent' };
      for (const change of recorded.changes ?? []) context.log(change);
      return { seen: 'done', message: `${countsOf(recorded.inventory)}; version ${recorded.version}` };
    },
    async act(context) {
      const call = callOf(context, machine);
      const found = await inventory.readHardware(call);
      await context.effect(() => inventories.record(call, found));
      return { result: 'started', reason: 'the hardware is being recorded', pollAfterMs: 0 };
    },
    undo: async () => ({ result: 'done', message: 'nothing was changed' }),
  }),
};

/** "2 processors, 16 memory modules, 3 drives" */
function countsOf(inventory: HardwareInventory): string {
  const counts = INVENTORY_SECTIONS.flatMap(({ one, many, of }) => {
    const count = of(inventory)?.length ?? 0;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  });
  return counts.length === 0 ? 'the BMC reports no parts' : counts.join(', ');
}
