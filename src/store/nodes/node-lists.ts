/** Lists of nodes, their histories, and nodes that need attention. */
import type { Scope } from '../../domain/access/scope.ts';
import type { InstallState } from '../../domain/install/install-state.ts';
import { GROUP_LABEL, MAX_INSTALL_ATTEMPTS, type Node } from '../../domain/install/node.ts';
import type { Session } from '../database/database.ts';
import { inScope, preparedAs } from '../filter/scope-condition.ts';
import { NODE_COLUMNS, NODES, type NodeJoin, nodeOf } from './nodes.ts';

export interface NodeFilter {
  /** The caller's. */
  readonly scope: Scope | null;
  readonly state: InstallState | null;
  readonly tag: string | null;
  readonly workflow: string | null;
  readonly mac: string | null;
  readonly group: string | null;
  /** Part of an id, a name, an address, a vendor, a model or a serial number. */
  readonly q: string | null;
  readonly limit: number;
  readonly offset: number;
}

const MATCHES = `m.install IS NOT NULL AND ($1::text IS NULL OR m.install = $1) AND ($2::text IS NULL OR n.tags @> ARRAY[$2])
  AND ($3::text IS NULL OR n.workflow = $3) AND ($4::text IS NULL OR n.mac_address = $4)
  AND ($5::text IS NULL OR strpos(lower(n.machine_id || ' ' || n.mac_address || ' ' || n.hostname || ' ' || n.vendor
    || ' ' || n.model || ' ' || n.serial_number || ' ' || n.ip_address), lower($5)) > 0)
  AND ($6::text IS NULL OR m.labels ->> '${GROUP_LABEL}' = $6)`;

/** Newest first. */
export async function listNodes(
  session: Session,
  filter: NodeFilter,
): Promise<{ readonly nodes: Node[]; readonly total: number }> {
  const values = [filter.state, filter.tag, filter.workflow, filter.mac, filter.q, filter.group];
  const within = inScope(filter.scope, 'm.machine_id', values.length + 1);
  const matching = [...values, ...within.values];
  const [count] = await session.run<{ total: number }>(
    preparedAs('count-nodes', filter.scope),
    `SELECT count(*) AS total FROM ${NODES} WHERE ${MATCHES} AND ${within.text}`,
    matching,
  );
  const rows = await session.run<NodeJoin>(
    preparedAs('list-nodes', filter.scope),
    `SELECT ${NODE_COLUMNS} FROM ${NODES} WHERE ${MATCHES} AND ${within.text}
     ORDER BY n.created_at DESC, n.machine_id DESC LIMIT $${matching.length + 1} OFFSET $${matching.length + 2}`,
    [...matching, filter.limit, filter.offset],
  );
  return { nodes: rows.map(nodeOf), total: count?.total ?? 0 };
}

export interface HistoryEntry {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly actorKind: string;
  readonly actorId: string;
  readonly comment: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly at: Date;
}

const IN_HISTORY = `machine_id = $1 AND kind = 'install' AND from_state <> ''`;

/** Newest first. */
export async function nodeHistory(
  session: Session,
  machineId: string,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly entries: HistoryEntry[]; readonly total: number }> {
  const [count] = await session.run<{ total: number }>(
    'count-node-history',
    `SELECT count(*) AS total FROM events WHERE ${IN_HISTORY}`,
    [machineId],
  );
  const rows = await session.run<{
    event_id: number;
    from_state: string;
    to_state: string;
    actor_kind: string;
    actor_id: string;
    comment: string;
    metadata: Record<string, unknown>;
    at: Date;
  }>(
    'node-history',
    `SELECT event_id, from_state, to_state, actor_kind, actor_id, comment, metadata, at FROM events
     WHERE ${IN_HISTORY} ORDER BY event_id DESC LIMIT $2 OFFSET $3`,
    [machineId, limit, offset],
  );
  const entries = rows.map((row) => ({
    id: String(row.event_id),
    from: row.from_state,
    to: row.to_state,
    actorKind: row.actor_kind,
    actorId: row.actor_id,
    comment: row.comment,
    metadata: row.metadata,
    at: row.at,
  }));
  return { entries, total: count?.total ?? 0 };
}

export type LastEntry = Pick<HistoryEntry, 'metadata' | 'at'>;

export async function lastInHistory(session: Session, machineId: string): Promise<LastEntry | null> {
  const [row] = await session.run<{ metadata: Record<string, unknown>; at: Date }>(
    'last-in-node-history',
    `SELECT metadata, at FROM events WHERE ${IN_HISTORY} ORDER BY event_id DESC LIMIT 1`,
    [machineId],
  );
  return row ?? null;
}

/** Whether the history has an entry with this metadata since a time. */
export async function wasNoted(
  session: Session,
  machineId: string,
  metadata: Readonly<Record<string, unknown>>,
  since: Date,
): Promise<boolean> {
  const rows = await session.run(
    'node-history-noted',
    `SELECT 1 AS found FROM events WHERE ${IN_HISTORY} AND metadata @> $2::jsonb AND at > $3 LIMIT 1`,
    [machineId, JSON.stringify(metadata), since],
  );
  return rows.length > 0;
}

/** The values of a metadata key in entries since a time, newest first. */
export async function recentNotes(
  session: Session,
  machineId: string,
  { key, since, limit }: { readonly key: string; readonly since: Date; readonly limit: number },
): Promise<unknown[]> {
  const rows = await session.run<{ note: unknown }>(
    'recent-node-notes',
    `SELECT metadata -> $2 AS note FROM events
     WHERE ${IN_HISTORY} AND metadata ? $2 AND at > $3 ORDER BY event_id DESC LIMIT $4`,
    [machineId, key, since, limit],
  );
  return rows.map((row) => row.note);
}

export interface NodeCounts {
  readonly total: number;
  readonly byState: Readonly<Record<string, number>>;
  readonly discoveredLastHour: number;
}

export async function countNodes(session: Session, scope: Scope | null): Promise<NodeCounts> {
  const { text, values } = inScope(scope, 'm.machine_id', 1);
  const rows = await session.run<{ state: InstallState; count: number; fresh: number }>(
    preparedAs('count-nodes-by-state', scope),
    `SELECT m.install AS state, count(*) AS count,
       count(*) FILTER (WHERE n.created_at > now() - interval '1 hour') AS fresh
     FROM ${NODES} WHERE m.install IS NOT NULL AND ${text} GROUP BY m.install`,
    [...values],
  );
  return {
    total: rows.reduce((sum, { count }) => sum + count, 0),
    byState: Object.fromEntries(rows.map(({ state, count }) => [state, count])),
    discoveredLastHour: rows.find(({ state }) => state === 'discovered')?.fresh ?? 0,
  };
}

/** A waiting node has an error only when a boot could not be served its installer. */
const UNHEARD = `(m.install = 'installing'
    AND greatest(n.last_seen_at, n.state_changed_at) < now() - $1 * interval '1 s'
  OR m.install = 'pending' AND n.last_install_error <> '')`;

/**
 * Nodes that are being installed and were not seen for some time, also after that was counted as a failed attempt;
 * and nodes that wait for an installer and booted from their disk. Longest first.
 */
export async function listStalled(
  session: Session,
  seconds: number,
  { limit, offset, scope }: Pick<NodeFilter, 'limit' | 'offset' | 'scope'>,
): Promise<{ readonly nodes: Node[]; readonly total: number }> {
  const counted = inScope(scope, 'm.machine_id', 2);
  const [count] = await session.run<{ total: number }>(
    preparedAs('count-stalled-nodes', scope),
    `SELECT count(*) AS total FROM ${NODES} WHERE ${UNHEARD} AND ${counted.text}`,
    [seconds, ...counted.values],
  );
  const listed = inScope(scope, 'm.machine_id', 4);
  const rows = await session.run<NodeJoin>(
    preparedAs('list-stalled-nodes', scope),
    `SELECT ${NODE_COLUMNS} FROM ${NODES} WHERE ${UNHEARD} AND ${listed.text}
     ORDER BY greatest(n.last_seen_at, n.state_changed_at), n.machine_id LIMIT $2 OFFSET $3`,
    [seconds, limit, offset, ...listed.values],
  );
  return { nodes: rows.map(nodeOf), total: count?.total ?? 0 };
}

/**
 * Nodes whose installation or erasure had no report for some time. `latest`: a limit against a clock that was set
 * forward.
 */
export async function stalledNodes(
  session: Session,
  seconds: number,
  limit: number,
  latest: Date,
): Promise<string[]> {
  const rows = await session.run<{ machine_id: string }>(
    'stalled-nodes',
    `SELECT n.machine_id FROM ${NODES}
     WHERE (m.install = 'installing'
         OR (m.install = 'deprovisioning' AND n.boot_no >= n.first_boot_no AND NOT n.boot_ended AND n.install_attempts < $4))
       AND greatest(n.last_report_at, n.state_changed_at) < least(now(), $3) - $1 * interval '1 s'
     ORDER BY n.machine_id LIMIT $2`,
    [seconds, limit, latest, MAX_INSTALL_ATTEMPTS],
  );
  return rows.map((row) => row.machine_id);
}

/** How many nodes wait for approval: unknown machines may add only so many. */
export async function countDiscovered(session: Session): Promise<number> {
  const [row] = await session.run<{ count: number }>(
    'count-discovered',
    `SELECT count(*) AS count FROM machines WHERE install = 'discovered'`,
  );
  return row?.count ?? 0;
}
