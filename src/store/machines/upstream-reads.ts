/**
 * Which replica reads an upstream's machines, and when they were read last.
 *
 * Claim: a sweep is claimed for a short time, and the claim is renewed while it runs. A replica that dies loses it when that
 * time is over; one that finds its claim lost stops. Only the database's clock counts. A time that is too far ahead means that the
 * clock was set back, and counts as over.
 */

import type { Scope } from '../../domain/access/scope.ts';
import { type UpstreamRead, upstreamSeenAt } from '../../domain/condition/upstream-view.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';
import { preparedAs, scopeCondition } from '../filter/scope-condition.ts';

export interface SweepClaim {
  readonly provider: string;
  /** Differs for every sweep. */
  readonly holder: string;
}

export interface ClaimOptions {
  readonly intervalMs: number;
  readonly holdMs: number;
}

export type ClaimResult =
  | { readonly claimed: true }
  /** Another replica has it, or it is not due. */
  | { readonly claimed: false; readonly failure: string };

const CAN_CLAIM = `
  (r.due_at <= now() OR r.due_at > now() + 2 * $3 * interval '1 ms')
  AND (r.held_until <= now() OR r.held_until > now() + 2 * $4 * interval '1 ms')`;

const CLAIM = `
  INSERT INTO upstream_reads AS r (provider, holder, due_at, held_until, started_at)
  VALUES ($1, $2, now() + $3 * interval '1 ms', now() + $4 * interval '1 ms', now())
  ON CONFLICT (provider) DO UPDATE SET holder = excluded.holder, due_at = excluded.due_at,
    held_until = excluded.held_until, started_at = excluded.started_at
  WHERE ${CAN_CLAIM} RETURNING provider`;

/** Read first, so that a sweep that is not due costs no write. */
const IS_DUE = `SELECT ${CAN_CLAIM} AS due, failure, $2::text AS holder FROM upstream_reads r WHERE provider = $1`;

export async function claimSweep(
  session: Session,
  { provider, holder }: SweepClaim,
  { intervalMs, holdMs }: ClaimOptions,
): Promise<ClaimResult> {
  const values = [provider, holder, intervalMs, holdMs];
  const [row] = await session.run<{ due: boolean; failure: string }>('sweep-is-due', IS_DUE, values);
  const notClaimed = { claimed: false, failure: row?.failure ?? '' } as const;
  if (row && !row.due) return notClaimed;
  const claimed = await session.run('claim-sweep', CLAIM, values);
  return claimed.length > 0 ? { claimed: true } : notClaimed;
}

/** False: another replica has it. */
export async function renewSweep(
  session: Session,
  { provider, holder }: SweepClaim,
  holdMs: number,
): Promise<boolean> {
  const rows = await session.run(
    'renew-sweep',
    `UPDATE upstream_reads SET held_until = now() + $3 * interval '1 ms'
     WHERE provider = $1 AND holder = $2 RETURNING provider`,
    [provider, holder, holdMs],
  );
  return rows.length > 0;
}

export type SweepEnd =
  /** With the ids of the machines that could not be read. */
  | { readonly end: 'complete'; readonly unread: readonly string[] }
  | { readonly end: 'failed'; readonly failure: string }
  /** Another replica may go on at once. */
  | { readonly end: 'stopped' };

const END = `
  UPDATE upstream_reads SET held_until = '-infinity',
    due_at = CASE WHEN $3 = 'stopped' THEN '-infinity' ELSE due_at END,
    read_at = CASE WHEN $3 = 'complete' THEN started_at ELSE read_at END,
    unread = CASE WHEN $3 = 'complete' THEN $4::text[] ELSE unread END,
    sweeps = sweeps + CASE WHEN $3 = 'complete' THEN 1 ELSE 0 END,
    failure = CASE $3 WHEN 'complete' THEN '' WHEN 'failed' THEN $5 ELSE failure END
  WHERE provider = $1 AND holder = $2`;

export async function endSweep(
  session: Session,
  { provider, holder }: SweepClaim,
  ending: SweepEnd,
): Promise<void> {
  const unread = ending.end === 'complete' ? ending.unread : [];
  const failure = ending.end === 'failed' ? ending.failure : '';
  await session.run('end-sweep', END, [provider, holder, ending.end, unread, failure]);
}

/** By provider, of those that were ever read. */
export async function readUpstreamReads(
  session: Session,
  providers: readonly string[],
): Promise<ReadonlyMap<string, UpstreamRead>> {
  if (providers.length === 0) return new Map();
  const rows = await session.run<{
    provider: string;
    read_at: Date | null;
    unread: string[];
    failure: string;
  }>(
    'upstream-reads',
    'SELECT provider, read_at, unread, failure FROM upstream_reads WHERE provider = ANY($1)',
    [providers],
  );
  return new Map(
    rows.map(({ provider, read_at: readAt, unread, failure }) => [provider, { readAt, unread, failure }]),
  );
}

export interface UnhealthyUpstream {
  readonly provider: string;
  readonly failure: string;
  /** The last complete sweep; null: there was none. */
  readonly readAt: Date | null;
}

/** An upstream that is overdue for so long is not configured any more. */
const FORGOTTEN = `interval '10 minutes'`;

/** The upstreams whose last sweep failed, of those that have a machine in the scope. */
export async function readUnhealthyUpstreams(
  session: Session,
  scope: Scope | null,
): Promise<UnhealthyUpstream[]> {
  const { text, values } = scopeCondition(scope, 1);
  const has =
    scope === null ? 'TRUE' : `provider IN (SELECT spec ->> 'provider' FROM machines WHERE ${text})`;
  return session.run<UnhealthyUpstream & Record<string, unknown>>(
    preparedAs('unhealthy-upstreams', scope),
    `SELECT provider, failure, read_at AS "readAt" FROM upstream_reads
     WHERE failure <> '' AND due_at > now() - ${FORGOTTEN} AND ${has} ORDER BY provider`,
    [...values],
  );
}

/** When the recorded upstream state of each machine was last seen. */
export async function upstreamSeenTimes(
  session: Session,
  machines: readonly Machine[],
): Promise<ReadonlyMap<string, Date>> {
  const reads = await readUpstreamReads(session, sourcesOf(machines));
  return new Map(
    machines.flatMap((machine) => {
      const seenAt = upstreamSeenAt(machine, reads.get(machine.observed?.source ?? ''));
      return seenAt ? [[machine.machineId, seenAt] as const] : [];
    }),
  );
}

function sourcesOf(machines: readonly Machine[]): string[] {
  return [...new Set(machines.flatMap(({ observed }) => observed?.source ?? []))];
}
