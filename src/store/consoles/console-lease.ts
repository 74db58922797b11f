/**
 * The right to hold the connection to a BMC's console. A claim writes the owner and adds one to the epoch. Only the database's clock
 * decides whether a lease has ended. A console that no one wants is let go.
 */
import type { ConsoleState } from '../../domain/console/console.ts';
import type { Session } from '../database/database.ts';

export interface ClaimedConsole {
  readonly machineId: string;
  readonly epoch: number;
  readonly recorded: boolean;
  /** Its last holder was connected and did not let go: what is open at the BMC may be that holder's. */
  readonly wasLost: boolean;
}

const CLAIM = `
  UPDATE consoles c SET owner = $1, epoch = c.epoch + 1, claim_at = now() + $2 * interval '1 ms', state = 'connecting',
    way = '', code = '', message = '', retry_at = NULL
  FROM (
    SELECT machine_id, state = 'open' AS was_lost FROM consoles
    WHERE claim_at <= now() AND (NOT recorded OR $4 = 'all' OR EXISTS (
      SELECT FROM console_sessions s WHERE s.machine_id = consoles.machine_id))
    ORDER BY recorded LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) AS free
  WHERE c.machine_id = free.machine_id
  RETURNING c.machine_id, c.epoch, c.recorded, free.was_lost, pg_notify('ingot', 'console:' || c.machine_id)`;

/** Consoles that are wanted and that no live replica holds. 'read': not those that are only recorded. */
export async function claimConsoles(
  session: Session,
  call: {
    readonly owner: string;
    readonly leaseMs: number;
    readonly limit: number;
    readonly which: 'all' | 'read';
  },
): Promise<ClaimedConsole[]> {
  const rows = await session.run<{
    machine_id: string;
    epoch: number;
    recorded: boolean;
    was_lost: boolean;
  }>('claim-consoles', CLAIM, [call.owner, call.leaseMs, call.limit, call.which]);
  return rows.map((row) => ({
    machineId: row.machine_id,
    epoch: row.epoch,
    recorded: row.recorded,
    wasLost: row.was_lost,
  }));
}

export interface KeptConsole {
  readonly machineId: string;
  readonly recorded: boolean;
  readonly sessions: number;
  readonly steals: boolean;
}

/** Those that the owner still holds. */
export async function renewConsoles(
  session: Session,
  { owner, leaseMs }: { readonly owner: string; readonly leaseMs: number },
): Promise<KeptConsole[]> {
  const rows = await session.run<{
    machine_id: string;
    recorded: boolean;
    sessions: number;
    steals: boolean;
  }>(
    'renew-consoles',
    `UPDATE consoles c SET claim_at = now() + $2 * interval '1 ms' WHERE owner = $1
     RETURNING machine_id, recorded, steals,
       (SELECT count(*)::int FROM console_sessions s WHERE s.machine_id = c.machine_id) AS sessions`,
    [owner, leaseMs],
  );
  return rows.map((row) => ({
    machineId: row.machine_id,
    recorded: row.recorded,
    sessions: row.sessions,
    steals: row.steals,
  }));
}

export interface NewConsoleState {
  readonly state: ConsoleState;
  readonly way?: string;
  readonly code?: string;
  readonly message?: string;
  readonly retryInMs?: number;
}

/** False: another replica holds it. */
export async function setConsoleState(
  session: Session,
  { machineId, epoch }: Pick<ClaimedConsole, 'machineId' | 'epoch'>,
  state: NewConsoleState,
): Promise<boolean> {
  const rows = await session.run(
    'set-console-state',
    `UPDATE consoles SET state = $3, way = $4, code = $5, message = $6, steals = steals AND $3 <> 'open',
       retry_at = CASE WHEN $7::float8 IS NULL THEN NULL ELSE now() + $7::float8 * interval '1 ms' END
     WHERE machine_id = $1 AND epoch = $2
     RETURNING pg_notify('ingot', 'console:' || machine_id)`,
    [
      machineId,
      epoch,
      state.state,
      state.way ?? '',
      state.code ?? '',
      state.message ?? '',
      state.retryInMs ?? null,
    ],
  );
  return rows.length === 1;
}

/**
 * Ends a claim whose connection is closed. 'unwanted': no one holds it until someone opens it; where that happened meanwhile, and
 * for 'elsewhere', another replica takes it at once.
 */
export async function releaseConsole(
  session: Session,
  { machineId, epoch }: Pick<ClaimedConsole, 'machineId' | 'epoch'>,
  why: 'unwanted' | 'elsewhere',
): Promise<void> {
  await session.run(
    'release-console',
    `UPDATE consoles c SET owner = NULL, epoch = c.epoch + 1, state = 'closed', way = '', code = '', message = '',
       retry_at = NULL, steals = false,
       claim_at = CASE WHEN $3 = 'elsewhere' OR c.recorded OR EXISTS (
         SELECT FROM console_sessions s WHERE s.machine_id = c.machine_id) THEN now() ELSE 'infinity' END
     WHERE machine_id = $1 AND epoch = $2
     RETURNING pg_notify('ingot', 'console:' || machine_id)`,
    [machineId, epoch, why],
  );
}

const RECORD_AT_ONCE = 500;

/** Has the consoles of these providers' machines recorded, and no others; how many were added. */
export async function recordConsoles(session: Session, providers: readonly string[]): Promise<number> {
  await session.run(
    'unrecord-consoles',
    `UPDATE consoles c SET recorded = false FROM machines m
     WHERE c.recorded AND m.machine_id = c.machine_id
       AND (m.spec ->> 'provider' <> ALL($1) OR coalesce(m.spec ->> 'bmc_endpoint', '') = '')`,
    [providers],
  );
  const added = await session.run(
    'record-consoles',
    `INSERT INTO consoles AS c (machine_id, recorded, claim_at)
     SELECT m.machine_id, true, now() FROM machines m
     WHERE m.spec ->> 'provider' = ANY($1) AND coalesce(m.spec ->> 'bmc_endpoint', '') <> ''
       AND NOT EXISTS (SELECT FROM consoles k WHERE k.machine_id = m.machine_id AND k.recorded)
     ORDER BY m.machine_id LIMIT ${RECORD_AT_ONCE}
     ON CONFLICT (machine_id) DO UPDATE SET recorded = true,
       claim_at = CASE WHEN c.owner IS NULL THEN least(c.claim_at, now()) ELSE c.claim_at END
     RETURNING 1`,
    [providers],
  );
  return added.length;
}
