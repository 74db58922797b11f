import type { Session } from '../../database/database.ts';
import { ACTIVE, WAKE } from './write-rules.ts';

/** Delivers a signal: an active operation that waits probes again at once. The caller sends the notice `due`. */
export async function wakeOperation(session: Session, operationId: string): Promise<void> {
  await session.run('wake-operation', `UPDATE operations SET ${WAKE} WHERE operation_id = $1 AND ${ACTIVE}`, [
    operationId,
  ]);
}
