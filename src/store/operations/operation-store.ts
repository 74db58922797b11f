/**
 * The engine's jobs in the operations table.
 *
 * Fence: every write names the epoch under which it was decided and changes nothing when the row has another
 * one. Claims are the only place where the epoch grows, and they use the database's clock alone (database-clock.ts
 * says what happens when that clock is stepped). A completion,
 * what it does to the machine and its events are one transaction.
 *
 * Locks: machines before operations, each in the order of their ids.
 */
import { ACTOR_KINDS, type Actor, type ActorKind } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../../domain/machine/machine-change.ts';
import { isActive } from '../../domain/operation/operation-status.ts';
import { deadlineOf } from '../../domain/operation/step.ts';
import type { Adopting, CancelRequest, Job, JobMove } from '../../engine/job.ts';
import type {
  Claimed,
  ClaimResult,
  DeathCount,
  HandBack,
  JobStore,
  LeaseRef,
  LogLine,
  LogTail,
  RecordResult,
} from '../../engine/job-store.ts';
import { Coalescer } from '../database/coalescer.ts';
import { type Database, isStatementError, type Session } from '../database/database.ts';
import type { DatabaseTime } from '../database/database-clock.ts';
import { OPERATION_COLUMNS, type OperationRow } from '../database/rows.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { appendEvents, eventsAsJson, insertEventsOf } from '../events/append-events.ts';
import { lockMachines } from '../machines/machine-rows.ts';
import { progressOf } from './operation-progress.ts';

interface CancelColumns {
  cancel_requested: boolean;
  cancel_actor_kind: string | null;
  cancel_actor_id: string | null;
  cancel_reason: string;
  signals: number;
}

export interface JobRow extends OperationRow, CancelColumns {
  epoch: number;
  deaths: number;
  log_bytes: number;
  adopting: Adopting;
  restarting: boolean;
  clock_ms: number;
}

const ACTIVE = `status IN ('pending', 'running', 'compensating')`;

/** $4 is ahead of now() unless the clock was just stepped forward: what that made due is not due yet. */
const claimOf = (which: string) => `
  UPDATE operations SET owner = $1, epoch = epoch + 1, due_at = now() + $3 * interval '1 ms',
    deaths = deaths + CASE WHEN owner IS NULL OR owner = $1 OR $5 = 'not_counted' THEN 0 ELSE 1 END
  WHERE operation_id IN (
    SELECT operation_id FROM operations WHERE ${ACTIVE} AND due_at <= least(now(), $4) ${which}
    LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
  RETURNING ${OPERATION_COLUMNS}, epoch, deaths, log_bytes, signals, adopting, restarting, clock_ms, cancel_actor_kind,
    cancel_actor_id, cancel_reason`;

const CLAIM = claimOf('ORDER BY due_at');
const CLAIM_OVERDUE = claimOf('AND deadline_at <= least(now(), $4) ORDER BY deadline_at');

const NEXT_DUE = `
  SELECT (extract(epoch FROM min(due_at) - least(clock_timestamp(), $1)) * 1000)::float8 AS due_in
  FROM operations WHERE ${ACTIVE} AND isfinite(due_at)`;

const RENEW = `
  WITH held AS MATERIALIZED (
    SELECT o.operation_id FROM operations o
    JOIN unnest($2::text[], $3::bigint[]) AS i(operation_id, epoch) USING (operation_id)
    WHERE o.epoch = i.epoch AND o.owner = $1 AND ${ACTIVE}
    ORDER BY o.operation_id FOR NO KEY UPDATE OF o)
  UPDATE operations o SET due_at = now() + $4 * interval '1 ms' FROM held
  WHERE o.operation_id = held.operation_id RETURNING o.operation_id`;

const RELEASE = `
  WITH input AS MATERIALIZED (
    SELECT DISTINCT ON (operation_id) * FROM unnest($2::text[], $3::bigint[], $4::text[]) AS i(operation_id, epoch, why)
    ORDER BY operation_id, epoch DESC),
  held AS MATERIALIZED (
    SELECT o.operation_id, o.epoch = i.epoch AS is_ours, i.why FROM operations o JOIN input i USING (operation_id)
    WHERE ${ACTIVE} AND (o.epoch = i.epoch AND o.owner = $1
      OR i.why = 'cut_off' AND o.epoch > i.epoch AND o.owner IS DISTINCT FROM $1 AND o.deaths > 0)
    ORDER BY o.operation_id FOR NO KEY UPDATE OF o)
  UPDATE operations o SET due_at = CASE WHEN held.is_ours THEN now() ELSE o.due_at END,
    owner = CASE WHEN held.is_ours THEN NULL ELSE o.owner END,
    deaths = o.deaths + CASE WHEN NOT held.is_ours THEN -1 WHEN held.why = 'broken' THEN 1 ELSE 0 END
  FROM held WHERE o.operation_id = held.operation_id`;

const RELEASE_ALL_BUT = `
  WITH held AS MATERIALIZED (
    SELECT operation_id FROM operations WHERE ${ACTIVE} AND owner = $1 AND operation_id <> ALL($2::text[])
    ORDER BY operation_id FOR NO KEY UPDATE)
  UPDATE operations o SET due_at = now(), owner = NULL FROM held WHERE o.operation_id = held.operation_id`;

/**
 * Everything that a batch of moves does, in one statement: the operations whose epoch still holds, and only
 * for those their machines and events. A wait that missed a signal or a cancel is due at once.
 */
const RECORD = `
  WITH input AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($2::jsonb) AS i(id text, epoch bigint, status text, steps jsonb, current integer,
      error jsonb, "waitingFor" text, "startedAt" timestamptz, "finishedAt" timestamptz, deaths integer,
      "logBytes" integer, signals integer, "releaseForMs" float8, adopting text, restarting boolean,
      "deadlineAt" timestamptz, "clockMs" bigint)),
  held AS MATERIALIZED (
    SELECT o.operation_id FROM operations o JOIN input i ON o.operation_id = i.id
    WHERE o.epoch = i.epoch AND o.owner = $1
    ORDER BY o.operation_id FOR NO KEY UPDATE OF o),
  recorded AS (
    UPDATE operations o SET status = i.status, steps = i.steps, current = i.current, error = i.error,
      waiting_for = i."waitingFor", started_at = i."startedAt", finished_at = i."finishedAt",
      deaths = least(o.deaths, i.deaths),
      log_bytes = i."logBytes", adopting = i.adopting, restarting = i.restarting, deadline_at = i."deadlineAt",
      clock_ms = i."clockMs",
      owner = CASE WHEN i."releaseForMs" IS NULL THEN o.owner END,
      due_at = CASE
        WHEN i."releaseForMs" IS NULL THEN o.due_at
        WHEN o.signals <> i.signals OR (o.cancel_requested AND i.status <> 'compensating') THEN now()
        ELSE now() + i."releaseForMs" * interval '1 ms' END
    FROM input i, held
    WHERE o.operation_id = i.id AND o.operation_id = held.operation_id AND o.epoch = i.epoch AND o.owner = $1
    RETURNING o.operation_id, o.cancel_requested, o.cancel_actor_kind, o.cancel_actor_id, o.cancel_reason, o.signals),
  machine_written AS (
    UPDATE machines m SET phase = i.phase, service = i.service, install = i.install, presence = i.presence,
      conditions = i.conditions, active_operation_id = i."activeOperationId", observed = i.observed, updated_at = now()
    FROM jsonb_to_recordset($3::jsonb) AS i("machineId" text, "operationId" text, phase text, service text,
      install text, presence text, conditions jsonb, "activeOperationId" text, observed jsonb)
    JOIN recorded ON recorded.operation_id = i."operationId"
    WHERE m.machine_id = i."machineId"),
  appended AS (
    ${insertEventsOf('$4', 'recorded', 'recorded.operation_id = e."operationId"')}),
  told AS MATERIALIZED (SELECT pg_notify('ingot', 'events') WHERE $4 <> '[]')
  SELECT recorded.* FROM recorded LEFT JOIN told ON true`;

/** A line of a holder that has lost its lease is left out. */
const APPEND_LOG = `
  INSERT INTO operation_logs (operation_id, epoch, line, at, stream, step, text, tail)
  SELECT i.id, i.epoch, i.line, i.at, i.stream, i.step, i.text, i.tail
  FROM jsonb_to_recordset($1::jsonb) AS i(id text, epoch bigint, line integer, at timestamptz, stream text, step text,
    text text, tail boolean)
  JOIN operations o ON o.operation_id = i.id AND o.epoch = i.epoch`;

/** Takes the older lines of a log's last part away, and counts them with those that were never stored. */
const TRIM_LOG = `
  WITH held AS (SELECT operation_id FROM operations WHERE operation_id = $1 AND epoch = $2),
  newest AS (
    SELECT epoch, line, sum(octet_length(text) + 1) OVER (ORDER BY epoch DESC, line DESC) AS newer
    FROM operation_logs JOIN held USING (operation_id) WHERE tail),
  fitting AS (SELECT epoch, line FROM newest WHERE newer <= $3 ORDER BY epoch, line LIMIT 1),
  kept AS (
    SELECT epoch, line FROM (
      SELECT epoch, line FROM fitting
      UNION ALL SELECT $2::bigint, $6::integer FROM held WHERE $6::integer IS NOT NULL) AS starts
    ORDER BY epoch DESC, line DESC LIMIT 1),
  removed AS (
    DELETE FROM operation_logs l USING kept
    WHERE l.operation_id = $1 AND l.tail AND (l.epoch, l.line) < (kept.epoch, kept.line)
    RETURNING octet_length(l.text) + 1 AS bytes)
  INSERT INTO operation_log_omissions AS o (operation_id, lines, bytes)
  SELECT held.operation_id, $4::bigint + (SELECT count(*) FROM removed),
    $5::bigint + (SELECT coalesce(sum(bytes), 0) FROM removed) FROM held
  ON CONFLICT (operation_id) DO UPDATE SET lines = o.lines + EXCLUDED.lines, bytes = o.bytes + EXCLUDED.bytes`;

interface Recording {
  readonly owner: string;
  readonly move: JobMove<MachineChange>;
}

export class PostgresOperationStore implements JobStore<MachineChange> {
  readonly #database: Database;
  readonly #clock: DatabaseTime;
  readonly #recordings: Coalescer<Recording, RecordResult>;

  constructor(database: Database, clock: DatabaseTime) {
    this.#database = database;
    this.#clock = clock;
    this.#recordings = new Coalescer({
      maxBatch: 500,
      maxUnderWay: 2,
      flush: (recordings) => this.#recordAll(recordings),
      isPoisoned: (error) => isStatementError(error) || error instanceof Fault,
    });
  }

  async claim(owner: string, limit: number, leaseMs: number, deaths: DeathCount): Promise<ClaimResult> {
    const claimed = await this.#claim('claim', CLAIM, [owner, limit, leaseMs], deaths);
    if (claimed.jobs.length > 0) return { ...claimed, nextDueInMs: 0 };
    const latest = this.#clock.latest();
    const [next] = await this.#database.run<{ due_in: number | null }>('next-due', NEXT_DUE, [latest]);
    return { ...claimed, nextDueInMs: next?.due_in ?? null };
  }

  claimOverdue(owner: string, limit: number, leaseMs: number, deaths: DeathCount): Promise<Claimed> {
    return this.#claim('claim-overdue', CLAIM_OVERDUE, [owner, limit, leaseMs], deaths);
  }

  async #claim(name: string, text: string, values: readonly unknown[], deaths: DeathCount): Promise<Claimed> {
    const rows = await this.#database.run<JobRow>(name, text, [...values, this.#clock.latest(), deaths]);
    const { steppedMs } = this.#clock;
    return { jobs: rows.map((row) => claimedJob(row, steppedMs)), now: this.#clock.now() };
  }

  async renew(owner: string, leases: readonly LeaseRef[], leaseMs: number): Promise<ReadonlySet<string>> {
    const values = [owner, leases.map(({ id }) => id), leases.map(({ epoch }) => epoch), leaseMs];
    const rows = await this.#database.run<{ operation_id: string }>('renew', RENEW, values);
    return new Set(rows.map((row) => row.operation_id));
  }

  async release(owner: string, leases: readonly HandBack[]): Promise<void> {
    const values = [
      owner,
      leases.map(({ id }) => id),
      leases.map(({ epoch }) => epoch),
      leases.map(({ why }) => why),
    ];
    await this.#database.transaction(async (session) => {
      await session.run('release', RELEASE, values);
      await appendEvents(session, [], ['due']);
    });
  }

  async releaseAllBut(owner: string, ids: readonly string[]): Promise<void> {
    await this.#database.run('release-all-but', RELEASE_ALL_BUT, [owner, ids]);
  }

  record(owner: string, move: JobMove<MachineChange>): Promise<RecordResult> {
    return this.#recordings.submit({ owner, move });
  }

  async appendLog(lines: readonly LogLine[], tails: readonly LogTail[]): Promise<void> {
    await this.#database.transaction(async (session) => {
      await session.run('append-log', APPEND_LOG, [JSON.stringify(lines)]);
      for (const { id, epoch, keepBytes, omitted } of tails)
        await session.run('trim-log', TRIM_LOG, [
          id,
          epoch,
          keepBytes,
          omitted.lines,
          omitted.bytes,
          omitted.before,
        ]);
      await appendEvents(session, [], ['logs']);
    });
  }

  async #recordAll(recordings: readonly Recording[]): Promise<RecordResult[]> {
    const owner = recordings[0]?.owner ?? '';
    const moves = recordings.map(({ move }) => move);
    const touched = moves.filter(touchesMachine).map((move) => move.job.subject);
    const together = areDistinct(moves.map((move) => move.job.id)) && areDistinct(touched);
    if (together && touched.length === 0) return recordMoves(this.#database, owner, moves, new Map());
    return this.#database.transaction(async (session) => {
      const machines = await lockMachines(session, touched);
      return together ? recordMoves(session, owner, moves, machines) : recordEach(session, owner, moves);
    });
  }
}

/**
 * Two moves of one operation, claimed again by the replica that had lost it, or two operations of one machine:
 * one of the two must be stale, and what it would do must not rub off. The machines' locks are held.
 */
async function recordEach(
  session: Session,
  owner: string,
  moves: readonly JobMove<MachineChange>[],
): Promise<RecordResult[]> {
  const results = new Map<JobMove<MachineChange>, RecordResult>();
  for (const move of moves.toSorted((left, right) => (left.job.id < right.job.id ? -1 : 1))) {
    const machines = await lockMachines(session, touchesMachine(move) ? [move.job.subject] : []);
    for (const result of await recordMoves(session, owner, [move], machines)) results.set(move, result);
  }
  return moves.map((move) => results.get(move) ?? resultOf(undefined));
}

function areDistinct(ids: readonly string[]): boolean {
  return new Set(ids).size === ids.length;
}

async function recordMoves(
  session: Session,
  owner: string,
  moves: readonly JobMove<MachineChange>[],
  machines: ReadonlyMap<string, Machine>,
): Promise<RecordResult[]> {
  const actor: Actor = { kind: 'system', id: owner };
  const at = new Date();
  const events: NewEvent[] = [];
  const changed: Array<Machine & { operationId: string }> = [];
  for (const move of moves) {
    events.push(...operationEvents(move, actor));
    const machine = machines.get(move.job.subject);
    if (!machine || !touchesMachine(move)) continue;
    const applied = applyChange(machine, move.change ?? {}, { at, actor, operationId: move.job.id });
    events.push(...applied.events);
    const activeOperationId = isActive(move.job.status) ? machine.activeOperationId : null;
    changed.push({ ...applied.machine, activeOperationId, operationId: move.job.id });
  }
  const rows = await session.run<CancelColumns & { operation_id: string }>('record', RECORD, [
    owner,
    toStoredJson(moves.map(inputOf)),
    toStoredJson(changed.map(machineInputOf)),
    eventsAsJson(events),
  ]);
  const recorded = new Map(rows.map((row) => [row.operation_id, row]));
  return moves.map((move) => resultOf(recorded.get(move.job.id)));
}

function machineInputOf(machine: Machine & { operationId: string }): Record<string, unknown> {
  const {
    machineId,
    operationId,
    phase,
    service,
    install,
    presence,
    conditions,
    activeOperationId,
    observed,
  } = machine;
  return {
    machineId,
    operationId,
    phase,
    service,
    install,
    presence,
    conditions,
    activeOperationId,
    observed,
  };
}

function touchesMachine(move: JobMove<MachineChange>): boolean {
  return move.change !== null || !isActive(move.job.status);
}

function inputOf({ job, releaseForMs }: JobMove<MachineChange>): Record<string, unknown> {
  const {
    id,
    epoch,
    status,
    steps,
    current,
    error,
    waitingFor,
    startedAt,
    finishedAt,
    deaths,
    logBytes,
    signals,
    adopting,
    restarting,
    clockMs,
  } = job;
  return {
    id,
    epoch,
    status,
    steps,
    current,
    error,
    waitingFor,
    startedAt,
    finishedAt,
    deaths,
    logBytes,
    signals,
    adopting,
    restarting,
    clockMs,
    releaseForMs,
    deadlineAt: deadlineAt(job),
  };
}

function deadlineAt({ status, steps, current }: Job): string | null {
  const step = steps[current];
  const deadline = step && isActive(status) ? deadlineOf(step) : null;
  return deadline === null ? null : new Date(deadline).toISOString();
}

export function operationEvents(move: JobMove<MachineChange>, actor: Actor): NewEvent[] {
  return move.events.map(({ after, ...event }) => ({
    ...event,
    actor: event.actor ?? actor,
    machineId: move.job.subject,
    operationId: move.job.id,
    snapshot: progressOf(after),
  }));
}

function resultOf(row: CancelColumns | undefined): RecordResult {
  if (!row) return { recorded: false, cancel: null, signals: 0 };
  return { recorded: true, cancel: cancelOf(row), signals: row.signals };
}

function cancelOf(row: CancelColumns): CancelRequest | null {
  if (!row.cancel_requested) return null;
  const kind = ACTOR_KINDS.find((known: ActorKind) => known === row.cancel_actor_kind) ?? 'system';
  return { actor: { kind, id: row.cancel_actor_id ?? '' }, reason: row.cancel_reason };
}

export function jobOf(row: JobRow): Job {
  return {
    id: row.operation_id,
    subject: row.machine_id,
    type: row.type,
    completionPolicy: row.contract,
    params: row.params,
    status: row.status,
    steps: row.steps,
    current: row.current,
    error: row.error,
    waitingFor: row.waiting_for,
    cancel: cancelOf(row),
    epoch: row.epoch,
    signals: row.signals,
    deaths: row.deaths,
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    logBytes: row.log_bytes,
    adopting: row.adopting,
    restarting: row.restarting,
    clockMs: row.clock_ms,
  };
}

/** An attempt began as long ago as before, whatever was done to the clock since it was written. */
function claimedJob(row: JobRow, steppedMs: number): Job {
  const job = jobOf(row);
  const sinceMs = steppedMs - job.clockMs;
  if (sinceMs === 0) return job;
  const steps = job.steps.map((step) => {
    if (step.attemptStartedAt === null) return step;
    const attemptStartedAt = new Date(Date.parse(step.attemptStartedAt) + sinceMs).toISOString();
    return { ...step, attemptStartedAt };
  });
  return { ...job, steps, clockMs: steppedMs };
}
