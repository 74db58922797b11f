/** One-time URLs: a node has at most one, for its next boot. */
import type { Session } from '../database/database.ts';
import { hashToken } from '../tokens.ts';

/** How the URL reaches the machine through its BMC: as the address of an HTTP boot, or as a disc. */
export type BootUrlWay = 'http' | 'media';

export interface BootUrl {
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  readonly isUsed: boolean;
  /** A disc was read by it. */
  readonly wasRead: boolean;
  /** Null: an operator decides. */
  readonly way: BootUrlWay | null;
}

/** Replaces an earlier one. */
export async function storeBootUrl(
  session: Session,
  machineId: string,
  {
    secret,
    issuedAt,
    expiresAt,
    way,
  }: Pick<BootUrl, 'issuedAt' | 'expiresAt' | 'way'> & { readonly secret: string },
): Promise<void> {
  await session.run(
    'store-boot-url',
    `INSERT INTO boot_urls (machine_id, secret_hash, issued_at, expires_at, way) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (machine_id) DO UPDATE SET secret_hash = excluded.secret_hash, issued_at = excluded.issued_at,
       expires_at = excluded.expires_at, used_at = NULL, way = excluded.way, read_at = NULL`,
    [machineId, hashToken(secret), issuedAt, expiresAt, way],
  );
}

export async function findBootUrl(session: Session, machineId: string): Promise<BootUrl | null> {
  const [row] = await session.run<BootUrlRow>(
    'find-boot-url',
    'SELECT issued_at, expires_at, used_at, read_at, way FROM boot_urls WHERE machine_id = $1',
    [machineId],
  );
  if (!row) return null;
  return {
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    isUsed: row.used_at !== null,
    wasRead: row.read_at !== null,
    way: row.way,
  };
}

interface BootUrlRow {
  readonly issued_at: Date;
  readonly expires_at: Date;
  readonly used_at: Date | null;
  readonly read_at: Date | null;
  readonly way: BootUrlWay | null;
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

/**
 * The machine whose disc may be read by the URL, also after its machine has used it: a BMC reads the disc in pieces, for as long as it is
 * inserted. What is on it opens nothing then. `isFirst`: no one has read it before.
 */
export async function readDiscByUrl(
  session: Session,
  secret: string,
): Promise<{ readonly machineId: string; readonly isFirst: boolean } | null> {
  const hash = hashToken(secret);
  const [first] = await session.run<{ machine_id: string }>(
    'read-disc-first',
    `UPDATE boot_urls SET read_at = now() WHERE secret_hash = $1 AND expires_at > now() AND read_at IS NULL
     RETURNING machine_id`,
    [hash],
  );
  if (first) return { machineId: first.machine_id, isFirst: true };
  const [row] = await session.run<{ machine_id: string }>(
    'read-disc',
    'SELECT machine_id FROM boot_urls WHERE secret_hash = $1 AND expires_at > now()',
    [hash],
  );
  return row ? { machineId: row.machine_id, isFirst: false } : null;
}
