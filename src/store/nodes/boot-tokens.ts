/** Boot tokens: a boot may report about its purpose and fetch its image with one. */
import { randomBytes } from 'node:crypto';
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
  readonly ttlSeconds: number;
}

export async function insertBootToken(session: Session, issue: BootTokenIssue): Promise<void> {
  await session.run(
    'insert-boot-token',
    `WITH old AS (DELETE FROM boot_tokens
       WHERE machine_id = $2 AND expires_at < now() AND issued_at < now() - interval '1 h')
     INSERT INTO boot_tokens (token_hash, machine_id, boot_no, operation_id, image, purpose, expires_at, trace_id)
     VALUES ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 s', $8)`,
    [
      hashToken(issue.token),
      issue.machineId,
      issue.bootNo,
      issue.operationId,
      issue.image,
      issue.purpose,
      issue.ttlSeconds,
      issue.traceId,
    ],
  );
}

export interface BootToken {
  readonly machineId: string;
  readonly bootNo: number;
  readonly operationId: string | null;
  readonly purpose: BootPurpose;
  readonly image: string;
}

/** Null: unknown or expired. */
export async function findBootToken(session: Session, token: string): Promise<BootToken | null> {
  const [row] = await session.run<{
    machine_id: string;
    boot_no: number;
    operation_id: string | null;
    purpose: BootPurpose;
    image: string;
  }>(
    'find-boot-token',
    `SELECT machine_id, boot_no, operation_id, purpose, image FROM boot_tokens
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
  };
}

/** How many boots after `afterBootNo` got an installer in the last `seconds`, at most an hour. */
export async function countBootsIssued(
  session: Session,
  machineId: string,
  afterBootNo: number,
  seconds: number,
): Promise<number> {
  const [row] = await session.run<{ count: number }>(
    'count-boots-issued',
    `SELECT count(*) AS count FROM boot_tokens
     WHERE machine_id = $1 AND boot_no > $2 AND issued_at > now() - $3 * interval '1 s'`,
    [machineId, afterBootNo, seconds],
  );
  return row?.count ?? 0;
}

/** The number of the boot, if it is a boot of this machine. */
export async function findTracedBoot(
  session: Session,
  machineId: string,
  traceId: string,
): Promise<number | null> {
  const [row] = await session.run<{ boot_no: number }>(
    'find-traced-boot',
    'SELECT boot_no FROM boot_tokens WHERE trace_id = $2 AND machine_id = $1',
    [machineId, traceId],
  );
  return row?.boot_no ?? null;
}

/** Removes the tokens of hardware that is no longer the machine's. */
export async function forgetBootTokens(session: Session, machineIds: readonly string[]): Promise<void> {
  await session.run('forget-machines-boot-tokens', 'DELETE FROM boot_tokens WHERE machine_id = ANY($1)', [
    machineIds,
  ]);
}
