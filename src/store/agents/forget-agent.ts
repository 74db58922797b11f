/**
 * Revokes an agent's token for good: when its machine is removed, or before its disks are erased.
 *
 * The token's hash stays in `revoked_agents`, so that its bearer gets an error that no retry can fix. The same row has the address of the
 * agent's entry. Where presence is in another store, the entry is removed there right after the commit; a crash in between, or
 * a store that does not answer, leaves the row due, and the presence watch removes the entry as soon as possible
 * (`removeRevokedEntries`).
 */
import type { AgentAddress } from '../../domain/agent/agent.ts';
import { agentExpired } from '../../domain/agent/agent-changes.ts';
import type { Database, Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import { lockMachines, writeChanged } from '../machines/machine-rows.ts';
import { type KeepaliveStore, KeepalivesAway } from './keepalive-store.ts';

type Entries = Pick<KeepaliveStore, 'remove'>;

const BATCH = 500;

const REVOKE = `
  INSERT INTO revoked_agents (token_hash, machine_id, pool, provider)
  SELECT token_hash, machine_id, pool, provider FROM agents JOIN agent_presence USING (machine_id)
  WHERE machine_id = $1 ON CONFLICT DO NOTHING`;

/** Its token is not valid any more, and its data is deleted everywhere; the history stays. May be repeated. */
export async function forgetAgent(database: Database, entries: Entries, machineId: string): Promise<void> {
  await database.transaction(async (session) => {
    const machines = await lockMachines(session, [machineId]);
    const { presence } = machines.get(machineId) ?? { presence: null };
    await session.run('revoke-agent', REVOKE, [machineId]);
    await session.run('forget-presence', 'DELETE FROM agent_presence WHERE machine_id = $1', [machineId]);
    await session.run('forget-host-key', 'DELETE FROM host_keys WHERE machine_id = $1', [machineId]);
    await session.run('forget-boot-tokens', 'DELETE FROM boot_tokens WHERE machine_id = $1', [machineId]);
    await session.run('forget-boot-fetches', 'DELETE FROM boot_fetches WHERE machine_id = $1', [machineId]);
    await session.run('forget-agent', 'DELETE FROM agents WHERE machine_id = $1', [machineId]);
    if (presence !== null && presence !== 'expired') {
      await writeChanged(session, machines, [machineId], agentExpired);
    }
    await appendEvents(session, [], ['tokens']);
  });
  await removeRevokedEntries(database, entries).catch((error: unknown) => {
    // The watch removes it when the store answers again.
    if (!(error instanceof KeepalivesAway)) throw error;
  });
}

/** An entry whose machine has an agent again, at the same address, is not left over. */
const LEFT_OVER = `
  SELECT r.token_hash, r.machine_id, r.pool, r.provider, p.machine_id IS NOT NULL AS is_back
  FROM revoked_agents r LEFT JOIN agent_presence p USING (machine_id, pool, provider)
  WHERE r.entry_removed_at IS NULL ORDER BY r.revoked_at LIMIT ${BATCH}`;

const REMOVED = 'UPDATE revoked_agents SET entry_removed_at = now() WHERE token_hash = ANY($1)';

/** Removes the entries of revoked agents from the store of keepalives. */
export async function removeRevokedEntries(session: Session, entries: Entries): Promise<void> {
  const rows = await session.run<{
    token_hash: Buffer;
    machine_id: string;
    pool: string;
    provider: string;
    is_back: boolean;
  }>('revoked-entries', LEFT_OVER);
  if (rows.length === 0) return;
  const left = rows.filter((row) => !row.is_back);
  await entries.remove(
    left.map((row) => ({ machineId: row.machine_id, poolName: row.pool, providerName: row.provider })),
  );
  await session.run('removed-entries', REMOVED, [rows.map((row) => row.token_hash)]);
}

const KNOWN = 'SELECT machine_id FROM agent_presence WHERE machine_id = ANY($1)';

/**
 * Of entries that were just written to another store, removes those whose agent was forgotten meanwhile: a registration
 * that ran while its machine was removed must not bring the entry back.
 */
export async function removeForgotten(
  session: Session,
  entries: Entries,
  written: readonly AgentAddress[],
): Promise<void> {
  if (written.length === 0) return;
  const rows = await session.run<{ machine_id: string }>('known-agents', KNOWN, [
    written.map(({ machineId }) => machineId),
  ]);
  const known = new Set(rows.map((row) => row.machine_id));
  const forgotten = written.filter(({ machineId }) => !known.has(machineId));
  if (forgotten.length > 0) await entries.remove(forgotten);
}
