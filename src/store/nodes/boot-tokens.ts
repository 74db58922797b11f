/** Boot tokens: a boot may report about its purpose and fetch its image with one. */
import { randomBytes } from 'node:crypto';
import type { EarlierBoot } from '../../domain/install/boot-admission.ts';
import type { WantedDisk } from '../../domain/install/install-evidence.ts';
import type { BootPurpose } from '../../domain/install/node.ts';
import type { Session } from '../database/database.ts';
import { hashToken } from '../tokens.ts';

/** 192 random bits, in characters that a kernel command line and a URL need no quoting for. */
export function newBootToken(): string {
  return randomBytes(24).toString('base64url');
}

export function newTraceId(): string {
  return randomBytes(9).toString('base64url');
}

interface IssuedBoots {
  readonly address: string;
  readonly afterBootNo: number;
  readonly seconds: number;
}

export interface BootTokenIssue {
  readonly token: string;
  /** Identifies the boot in the URLs of its files. Not a secret. */
  readonly traceId: string;
  readonly machineId: string;
  readonly bootNo: number;
  readonly operationId: string | null;
  readonly purpose: BootPurpose;
  /** Empty: none. */
  readonly image: string;
  /** The address that fetched the script: the token is refused from any other. */
  readonly address: string;
  readonly wanted: WantedDisk;
  readonly issuedAt: Date;
  readonly ttlSeconds: number;
}

export async function insertBootToken(session: Session, issue: BootTokenIssue): Promise<void> {
  await session.run(
    'insert-boot-token',
    `WITH old AS (DELETE FROM boot_tokens
       WHERE machine_id = $2 AND expires_at < now() AND issued_at < now() - interval '1 h')
     INSERT INTO boot_tokens (token_hash, machine_id, boot_no, operation_id, image, purpose, expires_at, trace_id,
       address, image_sha256, disk_sha256, disk_bytes, issued_at)
     VALUES ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 s', $8, $9, $10, $11, $12, $13)`,
    [
      hashToken(issue.token),
      issue.machineId,
      issue.bootNo,
      issue.operationId,
      issue.image,
      issue.purpose,
      issue.ttlSeconds,
      issue.traceId,
      issue.address,
      issue.wanted.imageSha256,
      issue.wanted.diskSha256,
      issue.wanted.diskBytes,
      issue.issuedAt,
    ],
  );
}

export interface BootToken {
  readonly machineId: string;
  readonly bootNo: number;
  readonly operationId: string | null;
  readonly purpose: BootPurpose;
  readonly image: string;
  /** Empty: issued by a version that bound tokens to no address. */
  readonly address: string;
  readonly wanted: WantedDisk;
}

/** Null: unknown or expired. */
export async function findBootToken(session: Session, token: string): Promise<BootToken | null> {
  const [row] = await session.run<{
    machine_id: string;
    boot_no: number;
    operation_id: string | null;
    purpose: BootPurpose;
    image: string;
    address: string;
    image_sha256: string;
    disk_sha256: string;
    disk_bytes: number | null;
  }>(
    'find-boot-token',
    `SELECT machine_id, boot_no, operation_id, purpose, image, address, image_sha256, disk_sha256, disk_bytes
     FROM boot_tokens
     WHERE token_hash = $1 AND expires_at > now()`,
    [hashToken(token)],
  );
  if (!row) return null;
  return {
    machineId: row.machine_id,
    bootNo: row.boot_no,
    operationId: row.operation_id,
    purpose: row.purpose,
    image: row.image,
    address: row.address,
    wanted: { imageSha256: row.image_sha256, diskSha256: row.disk_sha256, diskBytes: row.disk_bytes },
  };
}

/** The boot of an installation that was seen last: it fetched its script, or reported. Null: there was none. */
export async function findLatestBoot(
  session: Session,
  machineId: string,
  firstBootNo: number,
): Promise<EarlierBoot | null> {
  const [row] = await session.run<{ boot_no: number; address: string; seen_at: Date }>(
    'find-latest-boot',
    `SELECT boot_no, address, coalesce(reported_at, issued_at) AS seen_at FROM boot_tokens
     WHERE machine_id = $1 AND boot_no >= $2 ORDER BY seen_at DESC, boot_no DESC LIMIT 1`,
    [machineId, firstBootNo],
  );
  return row ? { bootNo: row.boot_no, address: row.address, seenAt: row.seen_at } : null;
}

export async function bootReported(
  session: Session,
  { machineId, bootNo }: Pick<BootToken, 'machineId' | 'bootNo'>,
  at: Date,
): Promise<void> {
  await session.run(
    'boot-reported',
    'UPDATE boot_tokens SET reported_at = $3 WHERE machine_id = $1 AND boot_no = $2',
    [machineId, bootNo, at],
  );
}

/** Ends the tokens of boots after this one. True: there were some. */
export async function endLaterBoots(
  session: Session,
  { machineId, bootNo }: Pick<BootToken, 'machineId' | 'bootNo'>,
): Promise<boolean> {
  const rows = await session.run(
    'end-later-boots',
    `UPDATE boot_tokens SET expires_at = now() WHERE machine_id = $1 AND boot_no > $2 AND expires_at > now()
     RETURNING boot_no`,
    [machineId, bootNo],
  );
  return rows.length > 0;
}

/** How many boots after `afterBootNo` from this address got an installer in the last `seconds`, at most an hour. */
export async function countBootsIssued(
  session: Session,
  machineId: string,
  { address, afterBootNo, seconds }: IssuedBoots,
): Promise<number> {
  const [row] = await session.run<{ count: number }>(
    'count-boots-issued',
    `SELECT count(*) AS count FROM boot_tokens
     WHERE machine_id = $1 AND boot_no > $2 AND issued_at > now() - $3 * interval '1 s' AND address IN ($4, '')`,
    [machineId, afterBootNo, seconds, address],
  );
  return row?.count ?? 0;
}

/** The number of the boot, if it is a boot of this machine that was served at this address. */
export async function findTracedBoot(
  session: Session,
  { machineId, traceId, address }: Pick<BootTokenIssue, 'machineId' | 'traceId' | 'address'>,
): Promise<number | null> {
  const [row] = await session.run<{ boot_no: number }>(
    'find-traced-boot',
    `SELECT boot_no FROM boot_tokens WHERE trace_id = $2 AND machine_id = $1 AND address IN ($3, '')`,
    [machineId, traceId, address],
  );
  return row?.boot_no ?? null;
}

/** Removes the tokens of hardware that is no longer the machine's. */
export async function forgetBootTokens(session: Session, machineIds: readonly string[]): Promise<void> {
  await session.run('forget-machines-boot-tokens', 'DELETE FROM boot_tokens WHERE machine_id = ANY($1)', [
    machineIds,
  ]);
}
