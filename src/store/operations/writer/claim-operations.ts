/**
 * Takes due operations for an owner: the one way to become a holder. The rows are locked, then written once: as held, and those that
 * have not started as started too (src/engine/start-with-claim.ts), with the events of their starts.
 */
import type { Actor } from '../../../domain/actor.ts';
import type { MachineChange } from '../../../domain/machine/machine-change.ts';
import type { Job } from '../../../engine/job.ts';
import type { Claim } from '../../../engine/job-store.ts';
import type { DatabaseTime } from '../../clock/database-clock.ts';
import { type Database, isStatementError, type Session } from '../../database/database.ts';
import { joinedLines, Lines } from '../../database/lines.ts';
import type { Statement } from '../../database/transaction.ts';
import { insertEventsOf } from '../../events/append-events.ts';
import { eventsAsLines } from '../../events/event-lines.ts';
import { deadlineAt } from './deadline-at.ts';
import { ENGINE_COLUMNS, type EngineRow, jobOf } from './engine-row.ts';
import { moveEvents } from './move-events.ts';
import { ACTIVE, AWAITS_APPROVAL } from './write-rules.ts';

/** $3 is ahead of now() unless the clock was just stepped forward: what only the step made due is not due yet. */
const lockOf = (which: string) => `
  SELECT ${ENGINE_COLUMNS}, owner IS NOT NULL AND owner <> $1 AS is_taken_over FROM operations
  WHERE ${ACTIVE} AND due_at <= least(now(), $3) AND NOT ${AWAITS_APPROVAL} ${which}
  LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED`;

const LOCKS = {
  'lock-due': lockOf('ORDER BY due_at'),
  'lock-overdue': lockOf('AND deadline_at <= least(now(), $3) ORDER BY deadline_at'),
} as const;

/** Locked rows: no one else changes what is added to. */
const CLAIM = `
  UPDATE operations SET owner = $1, epoch = epoch + 1, due_at = now() + $2 * interval '1 ms',
    deaths = deaths + CASE WHEN owner IS NULL OR owner = $1 OR $3 = 'not_counted' THEN 0 ELSE 1 END
  WHERE operation_id = ANY($4)`;

const STARTS = new Lines({
  id: 'text',
  epoch: 'bigint',
  deaths: 'integer',
  status: 'text',
  steps: 'jsonb',
  waitingFor: 'text',
  startedAt: 'timestamptz',
  deadlineAt: 'timestamptz',
  clockMs: 'bigint',
});

const CLAIM_AND_START = `
  WITH claimed AS (
    UPDATE operations o SET owner = $1, epoch = i.epoch, due_at = now() + $2 * interval '1 ms', deaths = i.deaths,
      status = i.status, steps = i.steps, waiting_for = i."waitingFor", started_at = i."startedAt",
      deadline_at = i."deadlineAt", clock_ms = i."clockMs"
    FROM ${STARTS.rows('$3')} AS i
    WHERE o.operation_id = i.id
    RETURNING o.operation_id),
  appended AS (
    ${insertEventsOf('$4', 'claimed', 'claimed.operation_id = e."operationId"')})
  SELECT pg_notify('ingot', 'events')`;

type LockedRow = EngineRow & Record<string, unknown> & { readonly is_taken_over: boolean };

/** A start that the database refuses must not keep the others from being claimed: then its holder records it, and fails alone. */
export async function claimOperations(
  database: Database,
  which: keyof typeof LOCKS,
  claim: Claim<MachineChange>,
  clock: DatabaseTime,
): Promise<Job[]> {
  try {
    return await claimLocked(database, which, claim, clock);
  } catch (error) {
    if (claim.start === undefined || !isStatementError(error)) throw error;
    const { start, ...withoutStart } = claim;
    return claimLocked(database, which, withoutStart, clock);
  }
}

function claimLocked(
  database: Database,
  which: keyof typeof LOCKS,
  claim: Claim<MachineChange>,
  clock: DatabaseTime,
): Promise<Job[]> {
  const { owner, limit, leaseMs, deaths } = claim;
  return database.transaction(async (session) => {
    const rows = await session.run<LockedRow>(which, LOCKS[which], [owner, limit, clock.latest()]);
    if (rows.length === 0) return [];
    const now = clock.now();
    const claimed = rows.map((row) => {
      const death = row.is_taken_over && deaths === 'counted' ? 1 : 0;
      const job = { ...jobOf(row), epoch: row.epoch + 1, deaths: row.deaths + death };
      return onCurrentClock(job, clock.steppedMs);
    });
    const starts = claimed.map((job) => startOf(claim, job, now));
    const started = starts.filter((written) => written !== null);
    const others = claimed.filter((_job, index) => starts[index] === null).map(({ id }) => id);
    const writes: Statement[] = [];
    if (others.length > 0) {
      writes.push({ name: 'claim', text: CLAIM, values: [owner, leaseMs, deaths, others] });
    }
    if (started.length > 0) writes.push(claimAndStart(claim, started));
    await session.finish(writes);
    return claimed.map((job, index) => starts[index]?.job ?? job);
  });
}

/** A started job, and its start in the form that is stored. */
interface WrittenStart {
  readonly job: Job;
  readonly columns: string;
  readonly events: string;
}

/**
 * Null: the job is claimed as it is. So is one whose start throws, whatever is wrong with it: the others are claimed, and its
 * holder meets the same error and fails alone.
 */
function startOf({ start, owner }: Claim<MachineChange>, claimed: Job, now: Date): WrittenStart | null {
  try {
    const move = start?.(claimed, now) ?? null;
    if (move === null) return null;
    const { job } = move;
    const { id, epoch, deaths, status, steps, waitingFor, startedAt, clockMs } = job;
    const actor: Actor = { kind: 'system', id: owner };
    return {
      job,
      columns: STARTS.line({
        id,
        epoch,
        deaths,
        status,
        steps,
        waitingFor,
        startedAt,
        deadlineAt: deadlineAt(job),
        clockMs,
      }),
      events: eventsAsLines(moveEvents(move, actor)),
    };
  } catch {
    return null;
  }
}

function claimAndStart({ owner, leaseMs }: Claim<MachineChange>, starts: readonly WrittenStart[]): Statement {
  const columns = joinedLines(starts.map((start) => start.columns));
  const events = joinedLines(starts.flatMap((start) => (start.events === '' ? [] : [start.events])));
  return { name: 'claim-and-start', text: CLAIM_AND_START, values: [owner, leaseMs, columns, events] };
}

/** Moves the start of each attempt by the clock steps since it was written, so that no time limit is cut or stretched. */
function onCurrentClock(operation: Job, steppedMs: number): Job {
  const sinceMs = steppedMs - operation.clockMs;
  if (sinceMs === 0) return operation;
  const steps = operation.steps.map((step) => {
    if (step.attemptStartedAt === null) return step;
    const attemptStartedAt = new Date(Date.parse(step.attemptStartedAt) + sinceMs).toISOString();
    return { ...step, attemptStartedAt };
  });
  return { ...operation, steps, clockMs: steppedMs };
}

const NEXT_DUE = `
  SELECT (extract(epoch FROM min(due_at) - least(clock_timestamp(), $1)) * 1000)::float8 AS due_in
  FROM operations WHERE ${ACTIVE} AND isfinite(due_at) AND NOT ${AWAITS_APPROVAL}`;

/** How long until some operation becomes due; null when none will. */
export async function msToNextDue(session: Session, clock: DatabaseTime): Promise<number | null> {
  const [next] = await session.run<{ due_in: number | null }>('next-due', NEXT_DUE, [clock.latest()]);
  return next?.due_in ?? null;
}
