/** One-time URLs: a node has at most one, for its next boot. */
import type { Session } from '../database/database.ts';
import { hashToken } from '../tokens.ts';

export interface BootUrl {
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  readonly isUsed: boolean;
}

/** Replaces an earlier one. */
export async function storeBootUrl(
  session: Session,
  machineId: string,
  { secret, issuedAt, expiresAt }: Pick<BootUrl, 'issuedAt' | 'expiresAt'> & { readonly secret: string },
): Promise<void> {
  await session.run(
    'store-boot-url',
    `INSERT INTO boot_urls (machine_id, secret_hash, issued_at, expires_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (machine_id) DO UPDATE SET secret_hash = excluded.secret_hash, issued_at = excluded.issued_at,
       expires_at = excluded.expires_at, used_at = NULL`,
    [machineId, hashToken(secret), issuedAt, expiresAt],
  );
}

export async function findBootUrl(session: Session, machineId: string): Promise<BootUrl | null> {
  const [row] = await session.run<{ issued_at: Date; expires_at: Date; used_at: Date | null }>(
    'find-boot-url',
    'SELECT issued_at, expires_at, used_at FROM boot_urls WHERE machine_id = $1',
    [machineId],
  );
  return row ? { issuedAt: row.issued_at, expiresAt: row.expires_at, isUsed: row.used_at !== null } : null;
}

/** Boots by the MAC address count again. */
export async function forgetBootUrl(session: Session, machineId: string): Promise<void> {
  await session.run('forget-boot-url', 'DELETE FROM boot_urls WHERE machine_id = $1', [machineId]);
}

/** The machine whose URL it is; null: unknown, used or expired. */
export async function machineOfBootUrl(session: Session, secret: string): Promise<string | null> {
  const [row] = await session.run<{ machine_id: string }>(
    'machine-of-boot-url',
    'SELECT machine_id FROM boot_urls WHERE secret_hash = $1 AND used_at IS NULL AND expires_at > now()',
    [hashToken(secret)],
  );
  return row?.machine_id ?? null;
}

/** As above, and it can't be used again. */
export async function consumeBootUrl(session: Session, secret: string): Promise<string | null> {
  const [row] = await session.run<{ machine_id: string }>(
    'use-boot-url',
    `UPDATE boot_urls SET used_at = now() WHERE secret_hash = $1 AND used_at IS NULL AND expires_at > now()
     RETURNING machine_id`,
    [hashToken(secret)],
  );
  return row?.machine_id ?? null;
}
