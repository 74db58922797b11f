/** The entries of the logs that BMCs keep: stored once each, and listed newest first. */
import type { Scope } from '../../domain/access/scope.ts';
import {
  categoryOf,
  credibleTime,
  entryKey,
  type LogCategory,
  type LogEntry,
} from '../../domain/hardware/hardware-log.ts';
import type { Health } from '../../domain/hardware/sensor.ts';
import type { Session } from '../database/database.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { machineCondition } from '../machines/machine-condition.ts';

/** Older ones of a machine are deleted. */
const KEPT_ENTRIES = 1_000;

const STORE = `
  INSERT INTO hardware_log (machine_id, generation, entry_key, entry_id, at, found_at, happened_at, severity, category, sensor, message)
  SELECT $1, $2::integer, i.key, i.id, i.at, $3::timestamptz, i.happened, i.severity, i.category, i.sensor, i.message
  FROM jsonb_to_recordset($4::jsonb) AS i(n integer, key text, id text, at timestamptz, happened timestamptz, severity text,
    category text, sensor text, message text)
  ORDER BY i.n
  ON CONFLICT (machine_id, generation, entry_key) DO NOTHING RETURNING entry_key`;

const PRUNE = `
  DELETE FROM hardware_log WHERE machine_id = $1 AND entry_number <= (
    SELECT entry_number FROM hardware_log WHERE machine_id = $1 ORDER BY entry_number DESC OFFSET ${KEPT_ENTRIES} LIMIT 1)`;

export interface StoredEntries {
  readonly generation: number;
  readonly foundAt: Date;
  /** The first reading of a log: when entries without a time happened is not known. */
  readonly isFirst: boolean;
}

/** Returns those that are new. */
export async function storeEntries(
  session: Session,
  machineId: string,
  entries: readonly LogEntry[],
  { generation, foundAt, isFirst }: StoredEntries,
): Promise<LogEntry[]> {
  if (entries.length === 0) return [];
  const input = entries.map((entry, n) => {
    const at = credibleTime(entry.at, foundAt);
    return {
      n,
      key: entryKey(entry),
      id: entry.id,
      at,
      happened: at ?? (isFirst ? null : foundAt),
      severity: entry.severity,
      category: categoryOf(entry),
      sensor: entry.sensor,
      message: entry.message,
    };
  });
  const rows = await session.run<{ entry_key: string }>('store-log-entries', STORE, [
    machineId,
    generation,
    foundAt,
    toStoredJson(input),
  ]);
  const stored = new Set(rows.map(({ entry_key: key }) => key));
  if (stored.size > 0) await session.run('prune-hardware-log', PRUNE, [machineId]);
  return entries.filter((entry) => stored.has(entryKey(entry)));
}

export interface KeptEntry {
  readonly entryNumber: number;
  readonly machineId: string;
  readonly entryId: string;
  readonly at: Date | null;
  readonly foundAt: Date;
  readonly severity: Health;
  readonly category: LogCategory;
  readonly sensor: string;
  readonly message: string;
}

export interface LogQuery {
  /** Null: of all machines. */
  readonly machineId: string | null;
  /** Only entries of these. */
  readonly severities: readonly Health[];
  readonly scope: Scope | null;
  /** The number of the last entry that was returned; null: from the newest on. */
  readonly before: number | null;
  readonly limit: number;
}

export async function listHardwareLog(
  session: Session,
  { machineId, severities, scope, before, limit }: LogQuery,
): Promise<KeptEntry[]> {
  const inScope = machineCondition({ filter: null, scope }, 5);
  return session.run<KeptEntry & Record<string, unknown>>(
    '',
    `SELECT l.entry_number AS "entryNumber", l.machine_id AS "machineId", l.entry_id AS "entryId", l.at, l.found_at AS "foundAt",
       l.severity, l.category, l.sensor, l.message
     FROM hardware_log l
     WHERE ${machineId === null ? '$1::text IS NULL' : 'l.machine_id = $1'} AND ($2::bigint IS NULL OR l.entry_number < $2)
       AND l.severity = ANY($3)
       AND EXISTS (SELECT FROM machines WHERE machines.machine_id = l.machine_id AND ${inScope.text})
     ORDER BY l.entry_number DESC LIMIT $4::integer`,
    [machineId, before, severities, limit, ...inScope.values],
  );
}
