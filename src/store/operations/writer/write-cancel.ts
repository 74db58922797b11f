import type { Operation } from '../../../domain/operation/operation.ts';
import type { Session } from '../../database/database.ts';
import { OPERATION_COLUMNS, type OperationRow, operationOf } from '../../database/rows.ts';
import { operationNotFound } from '../operation-faults.ts';
import type { CancelCall } from './record-cancel.ts';
import { WAKE } from './write-rules.ts';

const REQUESTED = `cancel_requested = true, cancel_actor_kind = $2, cancel_actor_id = $3, cancel_reason = $4`;

/** By what the cancel does to the locked row: its holder, the present or the next one, stops it; or it ends here. */
const CANCELS = {
  'request-cancel': `${REQUESTED}, ${WAKE}`,
  'end-canceled': `${REQUESTED}, status = 'cancelled', finished_at = now(), waiting_for = ''`,
} as const;

export async function writeCancel(
  session: Session,
  how: keyof typeof CANCELS,
  { operationId, actor, reason }: CancelCall,
): Promise<Operation> {
  const [row] = await session.run<OperationRow>(
    how,
    `UPDATE operations SET ${CANCELS[how]} WHERE operation_id = $1 RETURNING ${OPERATION_COLUMNS}`,
    [operationId, actor.kind, actor.id, reason],
  );
  if (!row) throw operationNotFound(operationId);
  return operationOf(row);
}
