/** Boot tokens: a boot may report about its purpose and fetch its image with one. */
import { randomBytes } from 'node:crypto';
import type { EarlierBoot } from '../../domain/install/boot/boot-admission.ts';
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
  const [row] = await session.run<BootTokenRow>(
    'find-boot-token',
    `SELECT ${BOOT_TOKEN_COLUMNS} FROM boot_tokens t WHERE t.token_hash = $1 AND t.expires_at > now()`,
    [hashToken(token)],
  );
  return row ? bootTokenOf(row) : null;
}

interface BootTokenRow {
  readonly machine_id: string;
  readonly boot_no: number;
  readonly operation_id: string | null;
  readonly purpose: BootPurpose;
  readonly image: string;
  readonly address: string;
  readonly image_sha256: string;
  readonly disk_sha256: string;
  readonly disk_bytes: number | null;
}

const BOOT_TOKEN_COLUMNS = `t.machine_id, t.boot_no, t.operation_id, t.purpose, t.image, t.address, t.image_sha256,
  t.disk_sha256, t.disk_bytes`;

function bootTokenOf(row: BootTokenRow): BootToken {
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

/**
 * Of these boots of installations those that are at work, or may start to be: not expired, of an operation that is still wanted, and
 * the only one of its node. A token is for one boot: after its final report, or once another boot has started, it is void; and
 * a boot that fetched its script while another one is at work opens nothing before it has started itself.
 */
export async function findLiveBoots(
  session: Session,
  tokenHashes: readonly Buffer[],
): Promise<readonly LiveBoot[]> {
  const rows = await session.run<BootTokenRow & { token_hash: Buffer }>(
    'find-live-boots',
    `SELECT t.token_hash, ${BOOT_TOKEN_COLUMNS}
     FROM boot_tokens t JOIN nodes n ON n.machine_id = t.machine_id
     WHERE t.token_hash = ANY ($1::bytea[]) AND t.expires_at > now() AND t.purpose = 'install'
       AND t.boot_no >= n.first_boot_no
       AND CASE WHEN t.boot_no = n.boot_no THEN NOT n.boot_ended
           ELSE t.boot_no = n.boots_issued AND (n.boot_ended OR n.boot_no < n.first_boot_no) END
       AND (t.operation_id IS NULL OR EXISTS (SELECT 1 FROM operations o
         WHERE o.operation_id = t.operation_id AND o.status IN ('pending', 'running') AND NOT o.cancel_requested))`,
    [tokenHashes],
  );
  return rows.map((row) => ({ ...bootTokenOf(row), tokenHash: row.token_hash }));
}

export interface LiveBoot extends BootToken {
  readonly tokenHash: Buffer;
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
