/** Nodes: the rows beside machines that tell of hardware and installations. A machine is locked before its node. */
import type { NewEvent } from '../domain/event.ts';
import type { InstallState } from '../domain/install-state.ts';
import { ACTIVE_JOB_STATUSES } from '../domain/job-status.ts';
import type { Machine } from '../domain/machine.ts';
import type { HardwareFacts, Node } from '../domain/node.ts';
import type { ServiceState } from '../domain/service-state.ts';
import { appendEvents, type Notice } from './append-events.ts';
import type { Database, Session } from './database.ts';
import { lockMachines, writeMachines } from './machine-rows.ts';

interface NodeRow {
  machine_id: string;
  mac_address: string;
  install: InstallState;
  service: ServiceState | null;
  hostname: string;
  vendor: string;
  model: string;
  serial_number: string;
  system_uuid: string;
  arch: string;
  boot_mode: string;
  ip_address: string;
  workflow: string;
  tags: string[];
  notes: string;
  install_attempts: number;
  last_install_error: string;
  install_progress: number | null;
  state_changed_at: Date;
  last_seen_at: Date | null;
  boots_issued: number;
  boot_no: number;
  boot_ended: boolean;
  first_boot_no: number;
  wanted_operation: string | null;
  wanted_key: string;
  wanted_image: string;
  wanted_at: Date | null;
  kicked_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = `n.machine_id, n.mac_address, m.install, m.service, n.hostname, n.vendor, n.model, n.serial_number,
  n.system_uuid, n.arch, n.boot_mode, n.ip_address, n.workflow, n.tags, n.notes, n.install_attempts,
  n.last_install_error, n.install_progress, n.state_changed_at, n.last_seen_at, n.boots_issued, n.boot_no,
  n.boot_ended, n.first_boot_no, n.wanted_operation, n.wanted_key, n.wanted_image, n.wanted_at, n.kicked_at,
  n.created_at, n.updated_at`;
const NODES = 'nodes n JOIN machines m USING (machine_id)';

function nodeOf(row: NodeRow): Node {
  return {
    machineId: row.machine_id,
    macAddress: row.mac_address,
    state: row.install,
    service: row.service,
    facts: {
      hostname: row.hostname,
      vendor: row.vendor,
      model: row.model,
      serialNumber: row.serial_number,
      systemUuid: row.system_uuid,
      arch: row.arch,
      bootMode: row.boot_mode,
      ipAddress: row.ip_address,
    },
    workflow: row.workflow,
    tags: row.tags,
    notes: row.notes,
    story: {
      attempts: row.install_attempts,
      lastError: row.last_install_error,
      progress: row.install_progress,
      bootNo: row.boot_no,
      bootEnded: row.boot_ended,
      firstBootNo: row.first_boot_no,
    },
    order: {
      operationId: row.wanted_operation,
      key: row.wanted_key,
      image: row.wanted_image,
      wantedAt: row.wanted_at,
      kickedAt: row.kicked_at,
    },
    bootsIssued: row.boots_issued,
    stateChangedAt: row.state_changed_at,
    lastSeenAt: row.last_seen_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

type Row = NodeRow & Record<string, unknown>;

export async function findNode(session: Session, machineId: string): Promise<Node | null> {
  const [row] = await session.run<Row>(
    'find-node',
    `SELECT ${COLUMNS} FROM ${NODES} WHERE n.machine_id = $1`,
    [machineId],
  );
  return row ? nodeOf(row) : null;
}

export async function findNodeIdByMac(session: Session, mac: string): Promise<string | null> {
  const [row] = await session.run<{ machine_id: string }>(
    'find-node-by-mac',
    `SELECT machine_id FROM nodes JOIN machines USING (machine_id)
     WHERE mac_address = $1 AND service IS DISTINCT FROM 'deleted'`,
    [mac],
  );
  return row?.machine_id ?? null;
}

/** Machines whose spec names the address, whether or not they are nodes. */
export async function machinesWithMac(session: Session, mac: string): Promise<string[]> {
  const rows = await session.run<{ machine_id: string }>(
    'machines-with-mac',
    `SELECT machine_id FROM machines WHERE spec -> 'mac_addresses' @> $1::jsonb
       AND service IS DISTINCT FROM 'deleted' ORDER BY machine_id LIMIT 2`,
    [JSON.stringify([mac])],
  );
  return rows.map((row) => row.machine_id);
}

export interface NewNode {
  readonly machineId: string;
  readonly macAddress: string;
  readonly facts: HardwareFacts;
  readonly workflow: string;
  readonly tags: readonly string[];
}

/** False: the address, or the machine, has a node already. */
export async function insertNode(session: Session, node: NewNode): Promise<boolean> {
  const { facts } = node;
  // An address that a removed machine had belongs to whoever has the hardware now.
  await session.run(
    'free-mac',
    `UPDATE nodes n SET mac_address = 'removed ' || n.machine_id FROM machines m
     WHERE n.mac_address = $1 AND m.machine_id = n.machine_id AND m.service = 'deleted'`,
    [node.macAddress],
  );
  const rows = await session.run(
    'insert-node',
    `INSERT INTO nodes (machine_id, mac_address, hostname, vendor, model, serial_number, system_uuid, arch,
       boot_mode, ip_address, workflow, tags)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING RETURNING machine_id`,
    [
      node.machineId,
      node.macAddress,
      facts.hostname,
      facts.vendor,
      facts.model,
      facts.serialNumber,
      facts.systemUuid,
      facts.arch,
      facts.bootMode,
      facts.ipAddress,
      node.workflow,
      node.tags,
    ],
  );
  return rows.length > 0;
}

export interface LockedNode {
  readonly machine: Machine;
  readonly node: Node;
}

async function lockNode(session: Session, machineId: string): Promise<LockedNode | null> {
  const machine = (await lockMachines(session, [machineId])).get(machineId);
  if (!machine) return null;
  const [row] = await session.run<Row>(
    'lock-node',
    `SELECT ${COLUMNS} FROM ${NODES} WHERE n.machine_id = $1 FOR NO KEY UPDATE OF n`,
    [machineId],
  );
  return row ? { machine, node: nodeOf(row) } : null;
}

/** What becomes of a node and its machine. */
export interface NodeChange extends LockedNode {
  readonly events: readonly NewEvent[];
  /** The installation was told of: it has not stalled. */
  readonly reported?: true;
  /** The operation that waits for what changed. */
  readonly wakes?: string | null;
}

/** Locks a node, lets `decide` say what becomes of it, and writes that. Null from `decide`: nothing. */
export async function changeNode(
  database: Database,
  machineId: string,
  decide: (locked: LockedNode, session: Session) => Promise<NodeChange | null> | NodeChange | null,
): Promise<Node | null> {
  return database.transaction(async (session) => {
    const locked = await lockNode(session, machineId);
    if (!locked) return null;
    const change = await decide(locked, session);
    if (!change) return locked.node;
    await writeNodeChange(session, locked, change);
    return findNode(session, machineId);
  });
}

async function writeNodeChange(session: Session, before: LockedNode, change: NodeChange): Promise<void> {
  await writeNode(session, change);
  const notices: Notice[] = [];
  if (change.wakes) {
    await wakeOperation(session, change.wakes);
    notices.push('due');
  }
  if (change.machine !== before.machine || change.events.length > 0) {
    await writeMachines(session, [change.machine], change.events, notices);
  } else {
    await appendEvents(session, [], notices);
  }
}

const WRITE = `
  UPDATE nodes SET hostname = $2, vendor = $3, model = $4, serial_number = $5, system_uuid = $6, arch = $7,
    boot_mode = $8, ip_address = $9, workflow = $10, tags = $11, notes = $12, install_attempts = $13,
    last_install_error = $14, install_progress = $15, boot_no = $16, boot_ended = $17, first_boot_no = $18,
    wanted_operation = $19, wanted_key = $20, wanted_image = $21, wanted_at = $22, kicked_at = $23,
    state_changed_at = $24, last_seen_at = $25, boots_issued = $26,
    last_report_at = CASE WHEN $27 THEN now() ELSE last_report_at END, updated_at = now()
  WHERE machine_id = $1`;

async function writeNode(session: Session, { node, reported }: NodeChange): Promise<void> {
  const { facts, story, order } = node;
  await session.run('write-node', WRITE, [
    node.machineId,
    facts.hostname,
    facts.vendor,
    facts.model,
    facts.serialNumber,
    facts.systemUuid,
    facts.arch,
    facts.bootMode,
    facts.ipAddress,
    node.workflow,
    node.tags,
    node.notes,
    story.attempts,
    story.lastError,
    story.progress,
    story.bootNo,
    story.bootEnded,
    story.firstBootNo,
    order.operationId,
    order.key,
    order.image,
    order.wantedAt,
    order.kickedAt,
    node.stateChangedAt,
    node.lastSeenAt,
    node.bootsIssued,
    reported === true,
  ]);
}

/** A waiting operation looks again at once. */
async function wakeOperation(session: Session, operationId: string): Promise<void> {
  await session.run(
    'wake-operation',
    `UPDATE operations SET signals = signals + 1, due_at = CASE WHEN owner IS NULL THEN now() ELSE due_at END
     WHERE operation_id = $1 AND status = ANY($2)`,
    [operationId, ACTIVE_JOB_STATUSES],
  );
}

/** Whether it still goes forward: one that was canceled wants nothing installed, also while it is being undone. */
export async function isOperationWanted(session: Session, operationId: string): Promise<boolean> {
  const rows = await session.run(
    'operation-wanted',
    `SELECT 1 AS found FROM operations
     WHERE operation_id = $1 AND status IN ('pending', 'running') AND NOT cancel_requested`,
    [operationId],
  );
  return rows.length > 0;
}

export interface NodeFilter {
  readonly state: InstallState | null;
  readonly tag: string | null;
  readonly workflow: string | null;
  readonly mac: string | null;
  /** A part of an id, a name, an address, a vendor, a model or a serial number. */
  readonly q: string | null;
  readonly limit: number;
  readonly offset: number;
}

const MATCHES = `m.install IS NOT NULL AND ($1::text IS NULL OR m.install = $1) AND ($2::text IS NULL OR n.tags @> ARRAY[$2])
  AND ($3::text IS NULL OR n.workflow = $3) AND ($4::text IS NULL OR n.mac_address = $4)
  AND ($5::text IS NULL OR strpos(lower(n.machine_id || ' ' || n.mac_address || ' ' || n.hostname || ' ' || n.vendor
    || ' ' || n.model || ' ' || n.serial_number || ' ' || n.ip_address), lower($5)) > 0)`;

/** Newest first. */
export async function listNodes(
  session: Session,
  filter: NodeFilter,
): Promise<{ readonly nodes: Node[]; readonly total: number }> {
  const values = [filter.state, filter.tag, filter.workflow, filter.mac, filter.q];
  const [count] = await session.run<{ total: number }>(
    'count-nodes',
    `SELECT count(*) AS total FROM ${NODES} WHERE ${MATCHES}`,
    values,
  );
  const rows = await session.run<Row>(
    'list-nodes',
    `SELECT ${COLUMNS} FROM ${NODES} WHERE ${MATCHES} ORDER BY n.created_at DESC, n.machine_id DESC
     LIMIT $6 OFFSET $7`,
    [...values, filter.limit, filter.offset],
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

/** Nodes whose installation nobody has reported about for so long. */
export async function stalledNodes(session: Session, seconds: number, limit: number): Promise<string[]> {
  const rows = await session.run<{ machine_id: string }>(
    'stalled-nodes',
    `SELECT n.machine_id FROM ${NODES}
     WHERE m.install = 'installing'
       AND greatest(n.last_report_at, n.state_changed_at) < now() - $1 * interval '1 s'
     ORDER BY n.machine_id LIMIT $2`,
    [seconds, limit],
  );
  return rows.map((row) => row.machine_id);
}

/** How many wait for approval; what an unknown machine may add to is bounded. */
export async function countDiscovered(session: Session): Promise<number> {
  const [row] = await session.run<{ count: number }>(
    'count-discovered',
    `SELECT count(*) AS count FROM machines WHERE install = 'discovered'`,
  );
  return row?.count ?? 0;
}
