/** Hardware inventories: the last of each source, with the times of its report and of its last change. */
import type {
  HardwareInventory,
  InventorySource,
  KeptInventory,
} from '../../domain/install/hardware-inventory.ts';
import type { Session } from '../database/database.ts';

interface Row extends Record<string, unknown> {
  readonly source: InventorySource;
  readonly inventory: HardwareInventory;
  readonly reported_at: Date;
  readonly changed_at: Date;
}

/** The newest of all sources; null: none yet. */
export async function findHardwareInventory(
  session: Session,
  machineId: string,
): Promise<KeptInventory | null> {
  const [row] = await session.run<Row>(
    'find-hardware-inventory',
    `SELECT source, inventory, reported_at, changed_at FROM hardware_inventories
     WHERE machine_id = $1 ORDER BY reported_at DESC LIMIT 1`,
    [machineId],
  );
  if (!row) return null;
  return {
    source: row.source,
    inventory: row.inventory,
    reportedAt: row.reported_at,
    changedAt: row.changed_at,
  };
}

export async function storeHardwareInventory(
  session: Session,
  machineId: string,
  { source, inventory, reportedAt, changedAt }: KeptInventory,
): Promise<void> {
  await session.run(
    'store-hardware-inventory',
    `INSERT INTO hardware_inventories (machine_id, source, inventory, reported_at, changed_at)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (machine_id, source) DO UPDATE SET inventory = excluded.inventory,
       reported_at = excluded.reported_at, changed_at = excluded.changed_at`,
    [machineId, source, JSON.stringify(inventory), reportedAt, changedAt],
  );
}
