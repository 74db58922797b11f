/** What operations have put into the virtual drives of BMCs: written before it is inserted, and gone once it was seen to be out. */
import type { Session } from '../database/database.ts';
import { hashToken } from '../tokens.ts';

export interface InsertedMedia {
  readonly operationId: string;
  /** The machine has booted from it. */
  readonly isUsed: boolean;
  /** It was tried to eject it. */
  readonly wasTried: boolean;
}

/** Replaces an earlier one, which goes out of the drive when the new one goes in. */
export async function storeInsertedMedia(
  session: Session,
  machineId: string,
  { operationId, secret, at }: { readonly operationId: string; readonly secret: string; readonly at: Date },
): Promise<void> {
  await session.run(
    'store-inserted-media',
    `INSERT INTO inserted_media (machine_id, operation_id, secret_hash, inserted_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (machine_id) DO UPDATE SET operation_id = excluded.operation_id, secret_hash = excluded.secret_hash,
       inserted_at = excluded.inserted_at, tried_at = NULL, tries = 0`,
    [machineId, operationId, hashToken(secret), at],
  );
}

export async function findInsertedMedia(session: Session, machineId: string): Promise<InsertedMedia | null> {
  const [row] = await session.run<{ operation_id: string; is_used: boolean; was_tried: boolean }>(
    'find-inserted-media',
    `SELECT m.operation_id, u.used_at IS NOT NULL AS is_used, m.tried_at IS NOT NULL AS was_tried
     FROM inserted_media m LEFT JOIN boot_urls u ON u.machine_id = m.machine_id AND u.secret_hash = m.secret_hash
     WHERE m.machine_id = $1`,
    [machineId],
  );
  return row ? { operationId: row.operation_id, isUsed: row.is_used, wasTried: row.was_tried } : null;
}

/** Whether it is what we have inserted last. */
export async function isInsertedMedia(session: Session, machineId: string, secret: string): Promise<boolean> {
  const rows = await session.run(
    'is-inserted-media',
    'SELECT 1 FROM inserted_media WHERE machine_id = $1 AND secret_hash = $2',
    [machineId, hashToken(secret)],
  );
  return rows.length > 0;
}

export async function triedToEject(session: Session, machineId: string): Promise<void> {
  await session.run(
    'tried-to-eject',
    'UPDATE inserted_media SET tried_at = now(), tries = tries + 1 WHERE machine_id = $1',
    [machineId],
  );
}

export async function forgetInsertedMedia(session: Session, machineId: string): Promise<void> {
  await session.run('forget-inserted-media', 'DELETE FROM inserted_media WHERE machine_id = $1', [machineId]);
}

export interface LeftMedia {
  readonly machineId: string;
  readonly operationId: string;
  /** With this one. */
  readonly tries: number;
}

/**
 * Media of operations that have ended, whose machine no other operation uses: those never tried since, and those tried so long ago. Each is
 * counted as tried, so that another replica leaves it.
 */
export async function claimLeftMedia(
  session: Session,
  { everySeconds, limit }: { readonly everySeconds: number; readonly limit: number },
): Promise<readonly LeftMedia[]> {
  const rows = await session.run<{ machine_id: string; operation_id: string; tries: number }>(
    'claim-left-media',
    `UPDATE inserted_media m SET tried_at = now(), tries = m.tries + 1
     WHERE m.machine_id IN (SELECT i.machine_id FROM inserted_media i
         JOIN machines c ON c.machine_id = i.machine_id AND c.active_operation_id IS NULL
         LEFT JOIN operations o ON o.operation_id = i.operation_id
       WHERE i.tried_at IS NULL OR i.tried_at < now() - $1 * interval '1 s' OR o.finished_at > i.tried_at
       ORDER BY i.tried_at NULLS FIRST LIMIT $2 FOR UPDATE OF i SKIP LOCKED)
     RETURNING m.machine_id, m.operation_id, m.tries`,
    [everySeconds, limit],
  );
  return rows.map((row) => ({
    machineId: row.machine_id,
    operationId: row.operation_id,
    tries: row.tries,
  }));
}
