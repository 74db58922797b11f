/** Watching agents for silence: whose time has come, who lives on, who is expired, and whether anybody listened. */
import type { AgentAddress } from '../../domain/agent/agent.ts';
import { agentExpired } from '../../domain/agent/agent-changes.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Database, Session } from '../database/database.ts';
import { lockMachines, writeChanged } from '../machines/machine-rows.ts';

/** An agent whose time to be checked has come. */
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

/** Those live on: each is checked again when its time is over. Whoever is being written speaks at this moment. */
export async function checkAgentsLater(
  session: Session,
  ids: readonly string[],
  leftMs: readonly number[],
): Promise<void> {
  await session.run('check-agents-later', CHECK_LATER, [ids, leftMs]);
}

/**
 * `check_at` tells whether somebody spoke since it was read: a registration moves it. Where keepalives are kept in
 * this very row, `expires_at` tells the rest.
 */
const EXPIRE = `
  WITH silent AS MATERIALIZED (
    SELECT machine_id FROM agent_presence
    WHERE machine_id = ANY($1) AND status <> 'expired' AND check_at <= least(now(), $3)
      AND ($2 OR expires_at <= least(now(), $3))
    FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE agent_presence p SET status = 'expired' FROM silent WHERE p.machine_id = silent.machine_id
  RETURNING p.machine_id`;

/**
 * Returns the machines whose agents are expired now. `elsewhere`: keepalives are not in this database. `latest`: a
 * time that the clock can't have reached without a step.
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

/** PostgreSQL before 17 can't subtract from the -infinity that stands for "never". */
const WATCH = `
  INSERT INTO presence_watch AS w (watched_at) VALUES (now())
  ON CONFLICT (singleton) DO UPDATE SET watched_at = now(),
    lenient_until = CASE WHEN w.watched_at < now() - $1 * interval '1 ms'
      THEN now() + $2 * interval '1 s' ELSE w.lenient_until END
  RETURNING CASE WHEN lenient_until > now()
    THEN (extract(epoch FROM lenient_until - now()) * 1000)::float8 ELSE 0 END AS lenient_ms`;

/**
 * Says that agents are being listened to. When nobody had said so for longer than `gapMs`, nobody could have heard
 * them, and everybody gets a whole time to live to speak again. Returns for how long that still holds.
 */
export async function watchAgents(session: Session, gapMs: number, ttlSeconds: number): Promise<number> {
  const [row] = await session.run<{ lenient_ms: number }>('watch-agents', WATCH, [gapMs, ttlSeconds]);
  return row?.lenient_ms ?? 0;
}
