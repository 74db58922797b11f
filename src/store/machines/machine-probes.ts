/**
 * When each machine is probed next, which replica probes it, and what the probe changed. The table is machine_looks.
 *
 * Claim: claiming a probe sets its time to that of the next probe, between nine tenths of an interval and a whole one later.
 * That time identifies the claim: no other replica finds the machine due before it, and a record with another time
 * changes nothing. A probe without a change writes nothing more, and the next probe makes up for one whose replica died.
 * Only the database's clock counts.
 *
 * Pace: the times are spread, not the work. Only probes that are due and not yet late can be claimed; one that is late, or new
 * and without a time, first gets a new time at random in the next interval. So neither an import nor a downtime leaves a
 * queue that is worked off in a burst.
 *
 * Locks: never waited for. A machine that another transaction is writing is left out, and its next probe records the change;
 * nothing is locked for longer than one statement.
 */
import type { Conditions } from '../../domain/condition/condition.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from '../database/rows.ts';
import { insertEventsOf } from '../events/append-events.ts';
import { eventsAsLines } from '../events/event-lines.ts';

/** Probes in a row that got no answer. */
export interface Misses {
  readonly host: number;
  readonly bmc: number;
}

export interface Probe {
  readonly machine: Machine;
  readonly misses: Misses;
  /** The time of the next probe, which identifies the claim. */
  readonly dueAt: Date;
  /** When the machine that was read was written, in full precision, which a Date does not have. */
  readonly version: string;
}

interface ProbeRow extends MachineRow {
  due_at: Date;
  host_misses: number;
  bmc_misses: number;
  version: string;
}

const INSERT_MISSING = `
  WITH missing AS (
    INSERT INTO machine_looks (machine_id)
    SELECT machine_id FROM machines m
    WHERE NOT EXISTS (SELECT FROM machine_looks l WHERE l.machine_id = m.machine_id) LIMIT $1 FOR KEY SHARE
    ON CONFLICT DO NOTHING RETURNING machine_id)
  SELECT count(*) FROM missing`;

/**
 * Inserts a probe without a time for machines that have none, at most `limit`; returns how many. Their locks keep them from being deleted
 * meanwhile: a probe goes with its machine, but no foreign key guards it (migration 0113).
 */
export async function insertMissingProbes(session: Session, limit: number): Promise<number> {
  const [row] = await session.run<{ count: number }>('insert-missing-probes', INSERT_MISSING, [limit]);
  return row?.count ?? 0;
}

/** From one probe to the next, in intervals. Random, so that machines that were registered together spread out. */
const PERIOD = '(0.9 + 0.1 * random())';

/** Evenly over a period, so that the following probes are even as well. A few probes are due soon: they are no burst. */
const SPREAD = `
  WITH late AS MATERIALIZED (
    SELECT machine_id, due_at FROM machine_looks WHERE due_at <= now() - $1 * interval '1 ms'
    ORDER BY due_at LIMIT $5 FOR NO KEY UPDATE SKIP LOCKED),
  given AS (
    UPDATE machine_looks l SET due_at = now() + random() * ${PERIOD} * interval '1 ms' *
      CASE WHEN (SELECT count(*) FROM late) <= $2 THEN $3::float8 ELSE $4::float8 END
    FROM late WHERE l.machine_id = late.machine_id)
  SELECT count(*) FILTER (WHERE due_at = '-infinity') AS fresh, count(*) FILTER (WHERE due_at > '-infinity') AS late
  FROM late`;

export interface SpreadOptions {
  /** A probe that is due for so long is late. */
  readonly lateMs: number;
  /** So many or fewer are due again within `soonMs`, more within the interval. */
  readonly few: number;
  readonly soonMs: number;
  readonly intervalMs: number;
  readonly limit: number;
}

/** Gives late probes, and those without a time, a new time; returns how many there were of each. */
export async function spreadProbes(
  session: Session,
  options: SpreadOptions,
): Promise<{ fresh: number; late: number }> {
  const { lateMs, few, soonMs, intervalMs, limit } = options;
  const values = [lateMs, few, soonMs, intervalMs, limit];
  const [row] = await session.run<{ fresh: number; late: number }>('spread-probes', SPREAD, values);
  return row ?? { fresh: 0, late: 0 };
}

/**
 * A time that is lost in a crash of the database means only that the machine is probed again, so the commit does not wait for
 * the disk. The setting holds for the statement's own transaction.
 */
const WITHOUT_DISK_SYNC = `(SELECT set_config('synchronous_commit', 'off', true)) AS need`;

/** The time is truncated to the precision of a Date, so that it compares as equal later. */
const CLAIM = `
  WITH due AS MATERIALIZED (
    SELECT ${MACHINE_COLUMNS}, m.updated_at::text AS version
    FROM machine_looks l JOIN machines m USING (machine_id)
    WHERE l.due_at <= now() AND l.due_at > now() - $4 * interval '1 ms' AND m.spec ->> 'provider' = $1
    ORDER BY l.due_at LIMIT $2 FOR NO KEY UPDATE OF l SKIP LOCKED),
  claimed AS (
    UPDATE machine_looks l
    SET due_at = date_trunc('milliseconds', now() + $3 * ${PERIOD} * interval '1 ms')
    FROM due WHERE l.machine_id = due.machine_id
    RETURNING l.machine_id, l.due_at, l.host_misses, l.bmc_misses)
  SELECT due.*, due_at, host_misses, bmc_misses
  FROM claimed JOIN due USING (machine_id) CROSS JOIN ${WITHOUT_DISK_SYNC}`;

export interface ClaimOptions {
  readonly provider: string;
  readonly limit: number;
  readonly intervalMs: number;
  readonly lateMs: number;
}

/** Claims probes that are due, the oldest first. */
export async function claimProbes(session: Session, options: ClaimOptions): Promise<Probe[]> {
  const { provider, limit, intervalMs, lateMs } = options;
  const rows = await session.run<ProbeRow>('claim-probes', CLAIM, [provider, limit, intervalMs, lateMs]);
  return rows.map((row) => ({
    machine: machineOf(row),
    misses: { host: row.host_misses, bmc: row.bmc_misses },
    dueAt: row.due_at,
    version: row.version,
  }));
}

const NEXT = `
  SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS due_in FROM machine_looks
  WHERE due_at > now() - $1 * interval '1 ms'`;

/** How long until the next probe is due; null when there is none. */
export async function nextProbeInMs(session: Session, lateMs: number): Promise<number | null> {
  const [row] = await session.run<{ due_in: number | null }>('next-probe', NEXT, [lateMs]);
  return row?.due_in ?? null;
}

const RETURN = `
  UPDATE machine_looks l SET due_at = now() FROM unnest($1::text[], $2::timestamptz[]) AS i(machine_id, due_at)
  WHERE l.machine_id = i.machine_id AND l.due_at = i.due_at`;

/** Returns claimed probes that were not made: they are due at once. */
export async function releaseProbes(session: Session, probes: readonly Probe[]): Promise<void> {
  const ids = probes.map(({ machine }) => machine.machineId);
  await session.run('return-probes', RETURN, [ids, probes.map(({ dueAt }) => dueAt)]);
}

/** What a probe changed. */
export interface ProbeRecord {
  readonly probe: Probe;
  readonly misses: Misses;
  /** All conditions of the machine; null when none changed. */
  readonly conditions: Conditions | null;
  readonly events: readonly NewEvent[];
}

/**
 * The changes of a batch of probes in one statement, for those whose claim is still valid and whose machine was not written
 * since: what an operation wrote meanwhile is newer than the probe.
 */
const RECORD = `
  WITH input AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS i("machineId" text, "dueAt" timestamptz, version timestamptz,
      "hostMisses" smallint, "bmcMisses" smallint, conditions jsonb)),
  held AS MATERIALIZED (
    SELECT m.machine_id FROM input i
    JOIN machines m ON m.machine_id = i."machineId" AND m.updated_at = i.version
    JOIN machine_looks l ON l.machine_id = i."machineId" AND l.due_at = i."dueAt"
    ORDER BY m.machine_id FOR NO KEY UPDATE OF m, l SKIP LOCKED),
  counted AS (
    UPDATE machine_looks l SET host_misses = i."hostMisses", bmc_misses = i."bmcMisses"
    FROM input i, held WHERE l.machine_id = i."machineId" AND l.machine_id = held.machine_id
      AND (l.host_misses, l.bmc_misses) <> (i."hostMisses", i."bmcMisses")),
  written AS (
    UPDATE machines m SET conditions = i.conditions, updated_at = now()
    FROM input i, held WHERE m.machine_id = i."machineId" AND m.machine_id = held.machine_id
      AND i.conditions IS NOT NULL),
  appended AS (${insertEventsOf('$2', 'held', 'held.machine_id = e."machineId"')}),
  notified AS MATERIALIZED (SELECT pg_notify('ingot', 'events') WHERE $2 <> '')
  SELECT held.machine_id FROM held LEFT JOIN notified ON true`;

/** Returns the machines whose record was written. */
export async function recordProbes(
  session: Session,
  records: readonly ProbeRecord[],
): Promise<ReadonlySet<string>> {
  const rows = await session.run<{ machine_id: string }>('record-probes', RECORD, [
    JSON.stringify(records.map(inputOf)),
    eventsAsLines(records.flatMap(({ events }) => events)),
  ]);
  return new Set(rows.map((row) => row.machine_id));
}

function inputOf({ probe, misses, conditions }: ProbeRecord): Record<string, unknown> {
  return {
    machineId: probe.machine.machineId,
    dueAt: probe.dueAt,
    version: probe.version,
    hostMisses: misses.host,
    bmcMisses: misses.bmc,
    conditions,
  };
}
