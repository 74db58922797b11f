import type { Approval } from '../../../domain/operation/approval.ts';
import type { Operation } from '../../../domain/operation/operation.ts';
import type { Session } from '../../database/database.ts';
import { OPERATION_COLUMNS, type OperationRow, operationOf } from '../../database/rows.ts';
import { toStoredJson } from '../../database/stored-json.ts';
import { operationNotFound } from '../operation-faults.ts';

/** An approved operation is due; one that is not approved ends in a cancel, which follows in the same transaction. */
const DECISIONS = {
  'approve-operation': `due_at = now(), waiting_for = '', signals = signals + 1`,
  'disapprove-operation': `waiting_for = ''`,
} as const;

export type Decided = Pick<Approval, 'state' | 'decidedBy' | 'decidedAt' | 'comment'>;

/** Writes the decision on a locked operation. */
export async function writeApproval(
  session: Session,
  operationId: string,
  decided: Decided,
): Promise<Operation> {
  const how = decided.state === 'approved' ? 'approve-operation' : 'disapprove-operation';
  const [row] = await session.run<OperationRow>(
    how,
    `UPDATE operations SET approval = approval || $2::jsonb, ${DECISIONS[how]} WHERE operation_id = $1
     RETURNING ${OPERATION_COLUMNS}`,
    [operationId, toStoredJson(decided)],
  );
  if (!row) throw operationNotFound(operationId);
  return operationOf(row);
}
