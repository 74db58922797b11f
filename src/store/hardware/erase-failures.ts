/** Erasures that failed. They are kept like certificates, also when the machine is gone. */
import type { Session } from '../database/database.ts';

export interface EraseFailure {
  readonly machineId: string;
  readonly operationId: string;
  /** Of the attempt that failed. */
  readonly key: string;
  readonly failedAt: Date;
  readonly message: string;
}

/** Twice for one attempt is once. */
export async function insertEraseFailure(session: Session, failure: EraseFailure): Promise<void> {
  const { machineId, operationId, key, failedAt, message } = failure;
  await session.run(
    'insert-erase-failure',
    `INSERT INTO erase_failures (machine_id, operation_id, key, failed_at, message) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING`,
    [machineId, operationId, key, failedAt, message],
  );
}

/** The newest, or the newest of an operation, that failed after this time; null: none. */
export async function findEraseFailure(
  session: Session,
  machineId: string,
  { operationId, after }: { readonly operationId: string | null; readonly after: Date | null },
): Promise<EraseFailure | null> {
  const [row] = await session.run<EraseFailure & Record<string, unknown>>(
    'find-erase-failure',
    `SELECT machine_id AS "machineId", operation_id AS "operationId", key, failed_at AS "failedAt", message
     FROM erase_failures
     WHERE machine_id = $1 AND ($2::text IS NULL OR operation_id = $2) AND ($3::timestamptz IS NULL OR failed_at > $3)
     ORDER BY failed_at DESC LIMIT 1`,
    [machineId, operationId, after],
  );
  return row ?? null;
}
