/**
 * When each machine's BMC is read next, and which replica reads it. A claim moves the time to that of the next reading, which
 * identifies the claim: no other replica finds the machine due before it, and a record with another time changes nothing. A reading
 * whose replica died is made up for by the next one. Only the database's clock counts.
 *
 * After a downtime all machines are due. They are read as fast as the slots allow, which bounds the cost, and are spread again by it.
 */
import type { KnownLog } from '../../domain/hardware/hardware-log.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from '../database/rows.ts';

/** A claimed reading. */
export interface DueReading {
  readonly machine: Machine;
  readonly dueAt: Date;
  readonly known: KnownLog;
}

const INSERT_MISSING = `
  WITH found AS MATERIALIZED (
    SELECT h.machine_id FROM machine_hardware h JOIN machines m USING (machine_id)
    WHERE h.kind = 'bmc' AND m.spec ->> 'provider' = ANY($5)
      AND NOT EXISTS (SELECT FROM machine_sensors s WHERE s.machine_id = h.machine_id) LIMIT $1),
  missing AS (
    INSERT INTO machine_sensors (machine_id, due_at)
    SELECT machine_id, now() + random() * interval '1 ms' *
      CASE WHEN (SELECT count(*) FROM found) <= $2 THEN $3::float8 ELSE $4::float8 END FROM found
    ON CONFLICT DO NOTHING RETURNING machine_id)
  SELECT count(*)::integer AS count FROM missing`;

export interface MissingOptions {
  readonly limit: number;
  /** So many or fewer are read first within `soonMs`, at random; more within the interval. */
  readonly few: number;
  readonly soonMs: number;
  readonly intervalMs: number;
  readonly providers: readonly string[];
}

/** Schedules machines that have a BMC and no reading yet; returns how many. */
export async function insertMissingReadings(
  session: Session,
  { limit, few, soonMs, intervalMs, providers }: MissingOptions,
): Promise<number> {
  const values = [limit, few, soonMs, intervalMs, providers];
  const [row] = await session.run<{ count: number }>('insert-missing-readings', INSERT_MISSING, values);
  return row?.count ?? 0;
}

/** From one reading to the next, in intervals. Random, so that machines that were registered together spread out. */
const PERIOD = '(0.9 + 0.1 * random())';

const CLAIM = `
  WITH due AS MATERIALIZED (
    SELECT s.machine_id FROM machine_sensors s JOIN machines m USING (machine_id)
    WHERE s.due_at <= now() AND m.spec ->> 'provider' = $1
    ORDER BY s.due_at LIMIT $2 FOR NO KEY UPDATE OF s SKIP LOCKED),
  claimed AS (
    UPDATE machine_sensors s SET due_at = date_trunc('milliseconds', now() + $3 * ${PERIOD} * interval '1 ms')
    FROM due WHERE s.machine_id = due.machine_id
    RETURNING s.machine_id, s.due_at, s.log_fingerprint, s.log_count, s.log_newest)
  SELECT ${MACHINE_COLUMNS}, due_at, log_fingerprint, log_count, log_newest
  FROM claimed JOIN machines USING (machine_id)`;

interface ClaimedRow extends MachineRow, Record<string, unknown> {
  due_at: Date;
  log_fingerprint: string;
  log_count: number;
  log_newest: string;
}

/** Claims readings that are due, the oldest first. */
export async function claimReadings(
  session: Session,
  { provider, limit, intervalMs }: { provider: string; limit: number; intervalMs: number },
): Promise<DueReading[]> {
  const rows = await session.run<ClaimedRow>('claim-readings', CLAIM, [provider, limit, intervalMs]);
  return rows.map((row) => ({
    machine: machineOf(row),
    dueAt: row.due_at,
    known: { fingerprint: row.log_fingerprint, count: row.log_count, newest: row.log_newest },
  }));
}

const NEXT = `SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS due_in FROM machine_sensors`;

/** How long until the next reading is due; null when there is none. */
export async function nextReadingInMs(session: Session): Promise<number | null> {
  const [row] = await session.run<{ due_in: number | null }>('next-reading', NEXT);
  return row?.due_in ?? null;
}

const RETRY = `
  UPDATE machine_sensors SET due_at = date_trunc('milliseconds', now() + $3 * interval '1 ms')
  WHERE machine_id = $1 AND due_at = $2`;

/** The BMC was in use: it is read again after this time. */
export async function retryReading(session: Session, due: DueReading, afterMs: number): Promise<void> {
  await session.run('retry-reading', RETRY, [due.machine.machineId, due.dueAt, afterMs]);
}
