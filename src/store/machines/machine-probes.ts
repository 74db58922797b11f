/**
 * When each machine is looked at next, who looks, and what the look changed.
 *
 * Claim: taking a look moves its time on to the look after it, between nine tenths of an interval and a whole one
 * later. That time is the claim: nobody else finds the machine due before it, and a record that names another time
 * changes nothing. A look that has nothing to tell writes nothing more, and one whose replica died is made up for
 * by the next. Only the database's clock counts.
 *
 * Pace: the times are spread, not the work. Only looks that are due and not yet late can be claimed; what is late,
 * or new and without a time, is given a new one first, anywhere in the interval ahead. So neither an import nor a
 * downtime leaves a queue that could be worked off in a burst.
 *
 * Locks: never waited for. A machine that somebody else is writing is left out, its next look will tell the same;
 * nothing is held for longer than one statement.
 */
import type { Conditions } from '../../domain/condition/condition.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from '../database/rows.ts';
import { eventsAsJson, insertEventsOf } from '../events/append-events.ts';

/** Looks in a row that found nobody there. */
export interface Misses {
  readonly host: number;
  readonly bmc: number;
}

export interface Probe {
  readonly machine: Machine;
  readonly misses: Misses;
  /** The time of the next look: what the claim is known by. */
  readonly dueAt: Date;
  /** Which write of the machine was read; exact, as a Date would not be. */
  readonly version: string;
}

interface LookRow extends MachineRow {
  due_at: Date;
  host_misses: number;
  bmc_misses: number;
  version: string;
}

const INSERT_MISSING = `
  WITH missing AS (
    INSERT INTO machine_looks (machine_id)
    SELECT machine_id FROM machines m
    WHERE NOT EXISTS (SELECT FROM machine_looks l WHERE l.machine_id = m.machine_id) LIMIT $1
    ON CONFLICT DO NOTHING RETURNING machine_id)
  SELECT count(*) FROM missing`;

/** Gives every machine that has none a look without a time; returns how many. At most `limit` a call. */
export async function insertMissingProbes(session: Session, limit: number): Promise<number> {
  const [row] = await session.run<{ count: number }>('insert-missing-looks', INSERT_MISSING, [limit]);
  return row?.count ?? 0;
}

/** From one look to the next, in intervals: by chance, so that what came together does not stay together. */
const PERIOD = '(0.9 + 0.1 * random())';

/**
 * Any moment of a period is as likely as another, so the looks after these are as even as these. A few are due
 * soon: they can be no burst.
 */
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
  /** A look that is due for so long is late. */
  readonly lateMs: number;
  /** So many or fewer are due again within `soonMs`, more within the interval. */
  readonly few: number;
  readonly soonMs: number;
  readonly intervalMs: number;
  readonly limit: number;
}

/** Gives late looks, and those without a time, a new one; returns how many there were of each. */
export async function spreadProbes(
  session: Session,
  options: SpreadOptions,
): Promise<{ fresh: number; late: number }> {
  const { lateMs, few, soonMs, intervalMs, limit } = options;
  const values = [lateMs, few, soonMs, intervalMs, limit];
  const [row] = await session.run<{ fresh: number; late: number }>('spread-looks', SPREAD, values);
  return row ?? { fresh: 0, late: 0 };
}

/**
 * A time that is lost in a crash of the database is a look that is made again: no reason to wait for the disk. It
 * holds for the statement's own transaction, whose commit comes after it.
 */
const NO_NEED_TO_LAST = `(SELECT set_config('synchronous_commit', 'off', true)) AS need`;

/** The time is cut to what a Date can hold, so that it comes back the same. */
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
  FROM claimed JOIN due USING (machine_id) CROSS JOIN ${NO_NEED_TO_LAST}`;

export interface ClaimOptions {
  readonly provider: string;
  readonly limit: number;
  readonly intervalMs: number;
  readonly lateMs: number;
}

/** Takes looks that are due, those first that have waited longest. */
export async function claimProbes(session: Session, options: ClaimOptions): Promise<Probe[]> {
  const { provider, limit, intervalMs, lateMs } = options;
  const rows = await session.run<LookRow>('claim-looks', CLAIM, [provider, limit, intervalMs, lateMs]);
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

/** How long until some look is due; null when there is none in sight. */
export async function nextProbeInMs(session: Session, lateMs: number): Promise<number | null> {
  const [row] = await session.run<{ due_in: number | null }>('next-look', NEXT, [lateMs]);
  return row?.due_in ?? null;
}

const RETURN = `
  UPDATE machine_looks l SET due_at = now() FROM unnest($1::text[], $2::timestamptz[]) AS i(machine_id, due_at)
  WHERE l.machine_id = i.machine_id AND l.due_at = i.due_at`;

/** Hands looks back that were claimed and not made: they are due at once. */
export async function releaseProbes(session: Session, looks: readonly Probe[]): Promise<void> {
  const ids = looks.map(({ machine }) => machine.machineId);
  await session.run('return-looks', RETURN, [ids, looks.map(({ dueAt }) => dueAt)]);
}

/** What a look changed. */
export interface ProbeRecord {
  readonly look: Probe;
  readonly misses: Misses;
  /** All of the machine's conditions, as they are now; null when they are as they were. */
  readonly conditions: Conditions | null;
  readonly events: readonly NewEvent[];
}

/**
 * Everything that a batch of looks changed, in one statement, for those whose claim still holds and whose machine
 * is still the one that was looked at. What an operation wrote meanwhile is newer than any sighting.
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
  told AS MATERIALIZED (SELECT pg_notify('ingot', 'events') WHERE $2 <> '[]')
  SELECT held.machine_id FROM held LEFT JOIN told ON true`;

/** Returns the machines whose record was written. */
export async function recordProbes(
  session: Session,
  records: readonly ProbeRecord[],
): Promise<ReadonlySet<string>> {
  const rows = await session.run<{ machine_id: string }>('record-looks', RECORD, [
    JSON.stringify(records.map(inputOf)),
    eventsAsJson(records.flatMap(({ events }) => events)),
  ]);
  return new Set(rows.map((row) => row.machine_id));
}

function inputOf({ look, misses, conditions }: ProbeRecord): Record<string, unknown> {
  return {
    machineId: look.machine.machineId,
    dueAt: look.dueAt,
    version: look.version,
    hostMisses: misses.host,
    bmcMisses: misses.bmc,
    conditions,
  };
}
