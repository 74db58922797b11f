/** The end of an inspection: what was recorded, in words. */
import { INVENTORY_SECTIONS } from '../../domain/hardware/inventory-section.ts';
import type { HardwareInventory } from '../../domain/install/hardware-inventory.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Observation, StepContext } from '../../engine/step-handler.ts';
import type { RecordedHardware } from '../control-plane.ts';

export function inspected(
  context: StepContext,
  { inventory, version, changes }: RecordedHardware,
  by: string,
): Observation<MachineChange> {
  for (const change of changes ?? []) context.log(change);
  return { seen: 'done', message: `${countsOf(inventory) || `${by} reports no parts`}; version ${version}` };
}

/** "2 processors, 16 memory modules, 3 drives" */
function countsOf(inventory: HardwareInventory): string {
  const counts = INVENTORY_SECTIONS.flatMap(({ one, many, of }) => {
    const count = of(inventory)?.length ?? 0;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  });
  return counts.join(', ');
}
