import type { Session } from '../database/database.ts';
import { isOfMachineOf } from '../filter/event-columns.ts';

export interface ActionRecord {
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
  readonly from: string;
  readonly to: string;
}

/** The latest actions of operators, and of the reconcilers, on an operation, oldest first. */
export async function listActions(
  session: Session,
  operationId: string,
  limit: number,
): Promise<ActionRecord[]> {
  return session.run<ActionRecord & Record<string, unknown>>(
    'list-actions',
    `SELECT at, actor, action, reason, "from", "to" FROM (
       SELECT event_id, at, actor_kind || ':' || actor_id AS actor, metadata ->> 'action' AS action,
         metadata ->> 'reason' AS reason, from_state AS "from", to_state AS "to"
       FROM events WHERE ${isOfMachineOf('$1')} AND kind = 'operation' AND metadata ? 'action'
       ORDER BY event_id DESC LIMIT $2) latest
     ORDER BY event_id`,
    [operationId, limit],
  );
}
