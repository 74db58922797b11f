/** Watches for lost agents: which are due for a check, alive or expired, and whether any replica received keepalives. */
import type { AgentAddress } from '../../domain/agent/agent.ts';
import { agentExpired } from '../../domain/agent/agent-changes.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Database, Session } from '../database/database.ts';
import { lockMachines, writeChanged } from '../machines/machine-rows.ts';

/** An agent that is due for a check. */
export interface AgentToCheck extends AgentAddress {
  readonly status: string;
}

/** $2 is ahead of now() unless the clock was just stepped forward. */
const TO_CHECK = `
  SELECT machine_id, pool, provider, status FROM agent_presence
  WHERE check_at <= least(now(), $2) AND status <> 'expired' ORDER BY check_at LIMIT $1`;

export async function agentsToCheck(session: Session, limit: number, latest: Date): Promise<AgentToCheck[]> {
  const rows = await session.run<{ machine_id: string; pool: string; provider: string; status: string }>(
    'agents-to-check',
    TO_CHECK,
    [limit, latest],
  );
  return rows.map((row) => ({
    machineId: row.machine_id,
    poolName: row.pool,
    providerName: row.provider,
    status: row.status,
  }));
}

const CHECK_LATER = `
  WITH due AS MATERIALIZED (
    SELECT machine_id FROM agent_presence
    WHERE machine_id = ANY($1) AND check_at <= now() FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE agent_presence p SET check_at = now() + i.left_ms * interval '1 ms'
  FROM due JOIN unnest($1::text[], $2::float8[]) AS i(machine_id, left_ms) USING (machine_id)
  WHERE p.machine_id = due.machine_id`;

/** For agents that are alive: each is checked again when its time to live ends. A locked row is being kept alive right now. */
export async function checkAgentsLater(
  session: Session,
  ids: readonly string[],
  leftMs: readonly number[],
): Promise<void> {
  await session.run('check-agents-later', CHECK_LATER, [ids, leftMs]);
}

/**
 * `check_at` shows whether the agent registered since it was read. Where keepalives are stored in this row, `expires_at`
 * shows whether it sent one.
 */
const EXPIRE = `
  WITH lost AS MATERIALIZED (
    SELECT machine_id FROM agent_presence
    WHERE machine_id = ANY($1) AND status <> 'expired' AND check_at <= least(now(), $3)
      AND ($2 OR expires_at <= least(now(), $3))
    FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE agent_presence p SET status = 'expired' FROM lost WHERE p.machine_id = lost.machine_id
  RETURNING p.machine_id`;

/**
 * Returns the machines whose agents have expired now. `elsewhere`: keepalives are not in this database. `latest`: a time
 * that the clock can't have reached without a step.
 */
export async function expireAgents(
  database: Database,
  ids: readonly string[],
  elsewhere: boolean,
  latest: Date,
): Promise<Machine[]> {
  return database.transaction(async (session) => {
    const machines = await lockMachines(session, ids);
    const rows = await session.run<{ machine_id: string }>('expire-agents', EXPIRE, [ids, elsewhere, latest]);
    return writeChanged(
      session,
      machines,
      rows.map((row) => row.machine_id),
      agentExpired,
    );
  });
}

/** PostgreSQL before 17 can't subtract from -infinity, which means "never" here. */
const WATCH = `
  INSERT INTO presence_watch AS w (watched_at, lenient_until)
  VALUES (now(), CASE WHEN $1 < 0 THEN now() + $2 * interval '1 s' ELSE '-infinity' END)
  ON CONFLICT (singleton) DO UPDATE SET watched_at = now(),
    lenient_until = CASE WHEN w.watched_at < now() - $1 * interval '1 ms'
      THEN now() + $2 * interval '1 s' ELSE w.lenient_until END
  RETURNING CASE WHEN lenient_until > now()
    THEN (extract(epoch FROM lenient_until - now()) * 1000)::float8 ELSE 0 END AS lenient_ms`;

/**
 * Records that keepalives are being received. When no replica had recorded that for longer than `gapMs`, none could have
 * received them, and every agent gets a whole time to live to send one; so with a `gapMs` below 0 in any case. Returns how much of that time is left.
 */
export async function watchAgents(session: Session, gapMs: number, ttlSeconds: number): Promise<number> {
  const [row] = await session.run<{ lenient_ms: number }>('watch-agents', WATCH, [gapMs, ttlSeconds]);
  return row?.lenient_ms ?? 0;
}
