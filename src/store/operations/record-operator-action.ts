/**
 * An operator's action on an operation: the operation, its machine and the events in one transaction. The epoch grows,
 * so whoever held the operation until now can write nothing more.
 */
import type { Actor } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../../domain/machine/machine-change.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { isActive } from '../../domain/operation/operation-status.ts';
import type { ActionDecision } from '../../engine/action-moves.ts';
import type { Job, JobMove } from '../../engine/job.ts';
import type { Database, Session } from '../database/database.ts';
import { OPERATION_COLUMNS, operationOf } from '../database/rows.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { appendEvents, type Notice } from '../events/append-events.ts';
import { lockMachines, writeMachines } from '../machines/machine-rows.ts';
import { type CancelCall, cancelIn, operationNotFound } from './cancel-operation.ts';
import { type JobRow, jobOf, operationEvents } from './operation-store.ts';
import { lastOperationOf } from './operations.ts';
import { activeFault } from './start-operations.ts';

const LOCK = `
  SELECT ${OPERATION_COLUMNS}, epoch, deaths, log_bytes, signals, adopting, restarting, clock_ms, cancel_actor_kind,
    cancel_actor_id, cancel_reason
  FROM operations WHERE operation_id = $1 FOR NO KEY UPDATE`;

const WRITE = `
  WITH written AS (UPDATE operations o SET status = i.status, steps = i.steps, current = i.current, error = i.error,
    waiting_for = i."waitingFor", finished_at = i."finishedAt", deaths = i.deaths, adopting = i.adopting,
    restarting = i.restarting, cancel_requested = i."cancelRequested", cancel_actor_kind = i."cancelActorKind",
    cancel_actor_id = i."cancelActorId", cancel_reason = i."cancelReason", epoch = o.epoch + 1, owner = NULL,
    due_at = now(), deadline_at = NULL, signals = o.signals + 1
  FROM jsonb_to_record($2::jsonb) AS i(status text, steps jsonb, current integer, error jsonb, "waitingFor" text,
    "finishedAt" timestamptz, deaths integer, adopting text, restarting boolean, "cancelRequested" boolean,
    "cancelActorKind" text, "cancelActorId" text, "cancelReason" text)
  WHERE o.operation_id = $1 RETURNING o.*)
  SELECT ${OPERATION_COLUMNS} FROM written`;

/** One that was queued or is held already is made due: what was lost on the way is picked up at once. */
const POKE = `
  UPDATE operations SET signals = signals + 1, due_at = CASE WHEN owner IS NULL THEN now() ELSE due_at END
  WHERE operation_id = $1 AND status IN ('pending', 'running', 'compensating')`;

export interface ActionCall {
  readonly operationId: string;
  readonly actor: Actor;
  /**
   * What becomes of the job; may throw a Fault where the machine is not in a state for it. `latest` is the operation
   * that worked on the machine last.
   */
  readonly decide: (job: Job, machine: Machine, latest: string) => Decided;
}

/** What is active is not moved by whoever cancels it: its holder turns around. */
type Decided = ActionDecision<MachineChange> | { readonly decision: 'stop'; readonly cancel: CancelCall };

export async function actOnOperation(database: Database, call: ActionCall): Promise<Operation> {
  return database.transaction(async (session) => {
    const [found] = await session.run<{ machine_id: string }>(
      'operation-machine',
      'SELECT machine_id FROM operations WHERE operation_id = $1',
      [call.operationId],
    );
    if (!found) throw operationNotFound(call.operationId);
    const machine = (await lockMachines(session, [found.machine_id])).get(found.machine_id);
    const [row] = await session.run<JobRow & Record<string, unknown>>('lock-job', LOCK, [call.operationId]);
    if (!row || !machine) throw operationNotFound(call.operationId);
    const latest = await lastOperationOf(session, found.machine_id);
    const decided = call.decide(jobOf(row), machine, latest?.operationId ?? '');
    switch (decided.decision) {
      case 'stop':
        return cancelIn(session, decided.cancel);
      case 'refuse':
        throw refused(call.operationId, decided.why);
      case 'nothing':
        await session.run('wake-operation', POKE, [call.operationId]);
        await appendEvents(session, [], ['due']);
        return operationOf(row);
      case 'move':
        return write(session, call, decided.move, machine);
    }
  });
}

async function write(
  session: Session,
  { operationId, actor }: ActionCall,
  move: JobMove<MachineChange>,
  machine: Machine,
): Promise<Operation> {
  const { job } = move;
  const isActiveNow = isActive(job.status);
  const other = machine.activeOperationId;
  if (isActiveNow && other !== null && other !== operationId) throw activeFault(machine.machineId, other);
  const [row] = await session.run<JobRow & Record<string, unknown>>('act-on-operation', WRITE, [
    operationId,
    toStoredJson({
      ...job,
      cancelRequested: job.cancel !== null,
      cancelActorKind: job.cancel?.actor.kind ?? null,
      cancelActorId: job.cancel?.actor.id ?? null,
      cancelReason: job.cancel?.reason ?? '',
    }),
  ]);
  if (!row) throw operationNotFound(operationId);
  const applied = applyChange(machine, move.change ?? {}, { at: new Date(), actor, operationId });
  const next = {
    ...applied.machine,
    activeOperationId: isActiveNow ? operationId : other === operationId ? null : other,
  };
  // Whoever has it in hand hears that it is his no longer.
  const notices: Notice[] = ['due', `cancel:${operationId}`];
  await writeMachines(session, [next], [...operationEvents(move, actor), ...applied.events], notices);
  return operationOf(row);
}

export interface ActionRecord {
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
  readonly from: string;
  readonly to: string;
}

/** What people, and what keeps machines true, did about an operation; the latest ones, in their order. */
export async function actionsOn(
  session: Session,
  operationId: string,
  limit: number,
): Promise<ActionRecord[]> {
  return session.run<ActionRecord & Record<string, unknown>>(
    'actions-on-operation',
    `SELECT at, actor, action, reason, "from", "to" FROM (
       SELECT event_id, at, actor_kind || ':' || actor_id AS actor, metadata ->> 'action' AS action,
         metadata ->> 'reason' AS reason, from_state AS "from", to_state AS "to"
       FROM events WHERE operation_id = $1 AND kind = 'operation' AND metadata ? 'action'
       ORDER BY event_id DESC LIMIT $2) latest
     ORDER BY event_id`,
    [operationId, limit],
  );
}

function refused(operationId: string, why: string): Fault {
  return new Fault('ACTION_NOT_APPLICABLE', {
    message: `${operationId} can’t take this action: ${why}`,
    metadata: { operation_id: operationId },
    violations: [{ subject: `operations/${operationId}`, description: why }],
  });
}
