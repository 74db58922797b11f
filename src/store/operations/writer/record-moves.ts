/** Records what holders decided: their operations, the machines of those, and the events, in one statement. */
import type pg from 'pg';
import type { Actor } from '../../../domain/actor.ts';
import type { NewEvent } from '../../../domain/event.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../../../domain/machine/machine-change.ts';
import { isActive } from '../../../domain/operation/operation-status.ts';
import type { JobMove } from '../../../engine/job.ts';
import type { RecordResult } from '../../../engine/job-store.ts';
import type { Session } from '../../database/database.ts';
import { Lines } from '../../database/lines.ts';
import { runTogether, type Statement } from '../../database/transaction.ts';
import { insertEventsOf } from '../../events/append-events.ts';
import { eventsAsLines } from '../../events/event-lines.ts';
import { insertEraseFailure } from '../../hardware/erase-failures.ts';
import { LAYERS, layersOf } from '../../machines/machine-rows.ts';
import { deadlineAt } from './deadline-at.ts';
import { type CancelColumns, cancelOf } from './engine-row.ts';
import { moveEvents } from './move-events.ts';

type Move = JobMove<MachineChange>;

const OPERATIONS = new Lines({
  id: 'text',
  epoch: 'bigint',
  status: 'text',
  steps: 'jsonb',
  current: 'integer',
  error: 'jsonb',
  waitingFor: 'text',
  startedAt: 'timestamptz',
  finishedAt: 'timestamptz',
  deaths: 'integer',
  logBytes: 'integer',
  signals: 'integer',
  releaseForMs: 'float8',
  adopting: 'text',
  restarting: 'boolean',
  deadlineAt: 'timestamptz',
  clockMs: 'bigint',
});

const MACHINES = new Lines({ ...LAYERS, operationId: 'text' });

/**
 * Writes the operations whose fence holds, and only for those their machines and events. A wait that missed a signal or a
 * cancel is due at once.
 */
const RECORD = `
  WITH input AS MATERIALIZED (
    SELECT * FROM ${OPERATIONS.rows('$2')} AS i),
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
      conditions = i.conditions, active_operation_id = i."activeOperationId", observed = i.observed,
      maintenance = i.maintenance, updated_at = now()
    FROM ${MACHINES.rows('$3')} AS i
    JOIN recorded ON recorded.operation_id = i."operationId"
    WHERE m.machine_id = i."machineId"),
  appended AS (
    ${insertEventsOf('$4', 'recorded', 'recorded.operation_id = e."operationId"')}),
  notified AS MATERIALIZED (SELECT pg_notify('ingot', 'events') WHERE $4 <> '')
  SELECT recorded.* FROM recorded LEFT JOIN notified ON true`;

/** Whether the caller has to lock the machine before the move is recorded. */
export function changesMachine(move: Move): boolean {
  return move.change !== null || !isActive(move.job.status);
}

/** Whether the record of the move takes more than its one statement. */
export function writesMore({ change }: Move): boolean {
  return change?.eraseFailure !== undefined;
}

/**
 * `machines` are the locked machines of the moves that change theirs. No two moves may be of one operation or change one
 * machine.
 */
export async function recordMoves(
  session: Session,
  owner: string,
  moves: readonly Move[],
  machines: ReadonlyMap<string, Machine>,
): Promise<RecordResult[]> {
  const failedAt = new Date();
  const [rows] = await runTogether(session, [recordOf(owner, moves, machines)]);
  const results = recordResults(moves, rows);
  for (const [index, { job, change }] of moves.entries()) {
    if (!change?.eraseFailure || !results[index]?.recorded) continue;
    const failure = { machineId: job.subject, operationId: job.id, failedAt, ...change.eraseFailure };
    await insertEraseFailure(session, failure);
  }
  return results;
}

/** The statement alone, for moves that write nothing more. */
export function recordOf(
  owner: string,
  moves: readonly Move[],
  machines: ReadonlyMap<string, Machine>,
): Statement {
  const actor: Actor = { kind: 'system', id: owner };
  const at = new Date();
  const events: NewEvent[] = [];
  const changed: Parameters<typeof MACHINES.line>[0][] = [];
  for (const move of moves) {
    const { job: operation, change } = move;
    events.push(...moveEvents(move, actor));
    const machine = machines.get(operation.subject);
    if (!machine || !changesMachine(move)) continue;
    const applied = applyChange(machine, change ?? {}, { at, actor, operationId: operation.id });
    events.push(...applied.events);
    const activeOperationId = isActive(operation.status) ? machine.activeOperationId : null;
    changed.push({ operationId: operation.id, ...layersOf({ ...applied.machine, activeOperationId }) });
  }
  return {
    name: 'record-moves',
    text: RECORD,
    values: [
      owner,
      OPERATIONS.text(moves.map(operationColumns)),
      MACHINES.text(changed),
      eventsAsLines(events),
    ],
  };
}

/** From the rows that `recordOf` is answered with. */
export function recordResults(
  moves: readonly Move[],
  rows: readonly pg.QueryResultRow[] | undefined,
): RecordResult[] {
  const recorded = new Map((rows as readonly RecordedRow[]).map((row) => [row.operation_id, row]));
  return moves.map(({ job }) => resultOf(recorded.get(job.id)));
}

interface RecordedRow extends CancelColumns, Record<string, unknown> {
  operation_id: string;
  signals: number;
}

function resultOf(row: RecordedRow | undefined): RecordResult {
  if (!row) return { recorded: false, cancel: null, signals: 0 };
  return { recorded: true, cancel: cancelOf(row), signals: row.signals };
}

function operationColumns({ job, releaseForMs }: Move) {
  return Object.assign({ releaseForMs, deadlineAt: deadlineAt(job) }, job);
}
