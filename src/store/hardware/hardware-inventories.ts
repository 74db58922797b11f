/**
 * Hardware inventories: the last of each source, every version of it, and the summary in the machine's row. They are written together,
 * while the caller holds the machine's lock, so that two reports of one machine follow each other.
 */
import { type HardwareSummary, hardwareSummary } from '../../domain/hardware/hardware-summary.ts';
import { mergeHardware } from '../../domain/hardware/merge-hardware.ts';
import {
  type HardwareInventory,
  hardwareChanges,
  type InventorySource,
  type KeptInventory,
} from '../../domain/install/hardware-inventory.ts';
import type { Session } from '../database/database.ts';

interface Row extends Record<string, unknown> {
  readonly source: InventorySource;
  readonly version: number;
  readonly inventory: HardwareInventory;
  readonly reported_at: Date;
  readonly changed_at: Date;
  readonly reported_key: string;
}

const COLUMNS = 'source, version, inventory, reported_at, changed_at, reported_key';

/** The newest of all sources; null: none yet. */
export async function findHardwareInventory(
  session: Session,
  machineId: string,
): Promise<KeptInventory | null> {
  const [newest] = await findHardwareInventories(session, machineId);
  return newest ?? null;
}

/** The last of each source, the newest first. */
export async function findHardwareInventories(session: Session, machineId: string): Promise<KeptInventory[]> {
  const rows = await session.run<Row>(
    'find-hardware-inventories',
    `SELECT ${COLUMNS} FROM hardware_inventories WHERE machine_id = $1 ORDER BY reported_at DESC`,
    [machineId],
  );
  return rows.map(inventoryOf);
}

/** What the work of this key has reported; null: nothing yet, or another reported after it. */
export async function findReportedBy(
  session: Session,
  machineId: string,
  source: InventorySource,
  key: string,
): Promise<KeptInventory | null> {
  const [row] = await session.run<Row>(
    'find-reported-hardware',
    `SELECT ${COLUMNS} FROM hardware_inventories WHERE machine_id = $1 AND source = $2 AND reported_key = $3`,
    [machineId, source, key],
  );
  return row ? inventoryOf(row) : null;
}

function inventoryOf(row: Row): KeptInventory {
  return {
    source: row.source,
    version: row.version,
    inventory: row.inventory,
    reportedAt: row.reported_at,
    changedAt: row.changed_at,
  };
}

export interface InventoryReport {
  readonly source: InventorySource;
  readonly inventory: HardwareInventory;
  readonly at: Date;
  /** As "kind:id". */
  readonly foundBy: string;
  readonly operationId: string | null;
  /** Of the work that reports it; empty where nothing asks for it later. */
  readonly key: string;
}

export interface RecordedInventory {
  readonly version: number;
  /** Null: it is the first of its source. */
  readonly changes: readonly string[] | null;
}

/** Older versions of a source are deleted. */
const KEPT_VERSIONS = 100;

/** A report that says what is known only moves the time of the last report. */
export async function recordInventory(
  session: Session,
  machineId: string,
  report: InventoryReport,
): Promise<RecordedInventory> {
  const known = await findHardwareInventories(session, machineId);
  const before = known.find(({ source }) => source === report.source) ?? null;
  const changes = before === null ? null : hardwareChanges(before.inventory, report.inventory);
  const isSame = changes !== null && changes.length === 0;
  const version = (before?.version ?? 0) + (isSame ? 0 : 1);
  const kept: KeptInventory = {
    source: report.source,
    version,
    inventory: report.inventory,
    reportedAt: report.at,
    changedAt: isSame && before !== null ? before.changedAt : report.at,
  };
  await storeInventory(session, machineId, kept, report.key);
  if (!isSame) await storeVersion(session, machineId, { ...report, version, changes: changes ?? [] });
  const others = known.filter(({ source }) => source !== report.source);
  await storeSummary(session, machineId, hardwareSummary(mergeHardware([...others, kept])));
  return { version, changes };
}

async function storeInventory(
  session: Session,
  machineId: string,
  { source, version, inventory, reportedAt, changedAt }: KeptInventory,
  key: string,
): Promise<void> {
  await session.run(
    'store-hardware-inventory',
    `INSERT INTO hardware_inventories (machine_id, source, inventory, reported_at, changed_at, version, reported_key)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (machine_id, source) DO UPDATE SET inventory = excluded.inventory, reported_at = excluded.reported_at,
       changed_at = excluded.changed_at, version = excluded.version, reported_key = excluded.reported_key`,
    [machineId, source, JSON.stringify(inventory), reportedAt, changedAt, version, key],
  );
}

async function storeVersion(
  session: Session,
  machineId: string,
  {
    source,
    inventory,
    at,
    foundBy,
    operationId,
    version,
    changes,
  }: InventoryReport & { readonly version: number; readonly changes: readonly string[] },
): Promise<void> {
  await session.run(
    'store-hardware-version',
    `WITH forgotten AS (
       DELETE FROM hardware_versions WHERE machine_id = $1 AND source = $2 AND version <= $3::integer - ${KEPT_VERSIONS})
     INSERT INTO hardware_versions (machine_id, source, version, inventory, changes, found_at, found_by, operation_id)
     VALUES ($1, $2, $3::integer, $4, $5, $6, $7, $8)`,
    [machineId, source, version, JSON.stringify(inventory), changes, at, foundBy, operationId],
  );
}

/** Written only where it differs, so that a watcher is not woken for nothing. */
async function storeSummary(session: Session, machineId: string, summary: HardwareSummary): Promise<void> {
  await session.run(
    'store-hardware-summary',
    `UPDATE machines SET hardware = $2::jsonb, updated_at = now()
     WHERE machine_id = $1 AND hardware IS DISTINCT FROM $2::jsonb`,
    [machineId, JSON.stringify(summary)],
  );
}
