/** The versions of what sources report of machines' hardware: listed newest first, and read for a comparison. */
import type { Scope } from '../../domain/access/scope.ts';
import type {
  HardwareInventory,
  HardwareVersion,
  InventorySource,
} from '../../domain/install/hardware-inventory.ts';
import type { Session } from '../database/database.ts';
import { machineCondition } from '../machines/machine-condition.ts';

interface Row extends Record<string, unknown> {
  readonly machine_id: string;
  readonly source: InventorySource;
  readonly version: number;
  readonly changes: readonly string[];
  readonly found_at: Date;
  readonly found_by: string;
  readonly operation_id: string | null;
}

const COLUMNS = 'v.machine_id, v.source, v.version, v.changes, v.found_at, v.found_by, v.operation_id';

/** The place of a version in the order of the list: those after it are older. */
export interface VersionPlace {
  readonly foundAt: Date;
  readonly machineId: string;
  readonly source: string;
  readonly version: number;
}

export interface VersionQuery {
  /** Null: of all machines. */
  readonly machineId: string | null;
  readonly source: InventorySource | null;
  readonly scope: Scope | null;
  /** Null: from the newest on. */
  readonly after: VersionPlace | null;
  readonly limit: number;
}

export async function listHardwareVersions(
  session: Session,
  { machineId, source, scope, after, limit }: VersionQuery,
): Promise<HardwareVersion[]> {
  const inScope = machineCondition({ filter: null, scope }, 8);
  const rows = await session.run<Row>(
    '',
    `SELECT ${COLUMNS} FROM hardware_versions v
     WHERE ($1::text IS NULL OR v.machine_id = $1) AND ($2::text IS NULL OR v.source = $2)
       AND ($3::timestamptz IS NULL OR (v.found_at, v.machine_id, v.source, v.version) < ($3, $4::text, $5::text, $6::integer))
       AND EXISTS (SELECT FROM machines WHERE machines.machine_id = v.machine_id AND ${inScope.text})
     ORDER BY v.found_at DESC, v.machine_id DESC, v.source DESC, v.version DESC LIMIT $7::integer`,
    [
      machineId,
      source,
      after?.foundAt ?? null,
      after?.machineId ?? '',
      after?.source ?? '',
      after?.version ?? 0,
      limit,
      ...inScope.values,
    ],
  );
  return rows.map(versionOf);
}

export interface StoredVersion extends HardwareVersion {
  readonly inventory: HardwareInventory;
}

/** Null: it never was, or is too old to be kept. */
export async function findHardwareVersion(
  session: Session,
  machineId: string,
  source: InventorySource,
  version: number,
): Promise<StoredVersion | null> {
  const [row] = await session.run<Row & { readonly inventory: HardwareInventory }>(
    'find-hardware-version',
    `SELECT ${COLUMNS}, v.inventory FROM hardware_versions v
     WHERE v.machine_id = $1 AND v.source = $2 AND v.version = $3::integer`,
    [machineId, source, version],
  );
  return row ? { ...versionOf(row), inventory: row.inventory } : null;
}

function versionOf(row: Row): HardwareVersion {
  return {
    machineId: row.machine_id,
    source: row.source,
    version: row.version,
    foundAt: row.found_at,
    foundBy: row.found_by,
    operationId: row.operation_id,
    changes: row.changes,
  };
}
