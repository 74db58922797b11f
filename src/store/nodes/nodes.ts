/** Nodes: the hardware and installation of machines, one row beside each. A machine is locked before its node. */

import { machineOutOfScope, type Scope } from '../../domain/access/scope.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Erasure, Overwrite } from '../../domain/install/erasure.ts';
import type { InstallState } from '../../domain/install/install-state.ts';
import {
  ARCHITECTURES,
  BOOT_MODES,
  type FactName,
  GROUP_LABEL,
  type HardwareFacts,
  type Node,
} from '../../domain/install/node.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { ServiceState } from '../../domain/machine/service-state.ts';
import type { Database, Session } from '../database/database.ts';
import type { Notice } from '../database/notifications.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { appendEvents } from '../events/append-events.ts';
import { idsInScope } from '../filter/scope-condition.ts';
import { lockMachineIn, writeMachines } from '../machines/machine-rows.ts';
import { wakeOperation } from '../operations/writer/wake-operation.ts';

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
  edited_facts: FactName[];
  node_group: string;
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
  wanted_overwrite: Overwrite;
  erasure: Erasure | null;
  wanted_at: Date | null;
  kicked_at: Date | null;
  last_report_at: Date | null;
  reporter_address: string;
  created_at: Date;
  updated_at: Date;
}

export const NODE_COLUMNS = `n.machine_id, n.mac_address, m.install, m.service, n.hostname, n.vendor, n.model, n.serial_number,
  n.system_uuid, n.arch, n.boot_mode, n.ip_address, n.edited_facts,
  coalesce(m.labels ->> '${GROUP_LABEL}', '') AS node_group, n.workflow, n.tags, n.notes, n.install_attempts,
  n.last_install_error, n.install_progress, n.state_changed_at, n.last_seen_at, n.boots_issued, n.boot_no,
  n.boot_ended, n.first_boot_no, n.wanted_operation, n.wanted_key, n.wanted_image, n.wanted_at, n.kicked_at,
  n.wanted_overwrite, n.erasure, n.last_report_at, n.reporter_address, n.created_at, n.updated_at`;
export const NODES = 'nodes n JOIN machines m USING (machine_id)';

export function nodeOf(row: NodeRow): Node {
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
    editedFacts: row.edited_facts,
    group: row.node_group,
    profile: row.workflow,
    tags: row.tags,
    notes: row.notes,
    installRecord: {
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
      overwrite: row.wanted_overwrite,
      wantedAt: row.wanted_at,
      kickedAt: row.kicked_at,
    },
    erasure: row.erasure,
    bootsIssued: row.boots_issued,
    stateChangedAt: row.state_changed_at,
    lastSeenAt: row.last_seen_at,
    lastReportAt: row.last_report_at,
    reporterAddress: row.reporter_address,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export type NodeJoin = NodeRow & Record<string, unknown>;

/** Null: there is none in the scope. */
export async function findNodeIn(
  session: Session,
  machineId: string,
  scope: Scope | null,
): Promise<Node | null> {
  if (scope !== null && !(await idsInScope(session, scope, [machineId])).has(machineId)) return null;
  return findNode(session, machineId);
}

export async function findNode(session: Session, machineId: string): Promise<Node | null> {
  const [row] = await session.run<NodeJoin>(
    'find-node',
    `SELECT ${NODE_COLUMNS} FROM ${NODES} WHERE n.machine_id = $1`,
    [machineId],
  );
  return row ? nodeOf(row) : null;
}

/**
 * The machine whose spec names the address has it, whichever address its node uses. Only where none does, the node
 * that last used the address has it.
 */
const FIND_BY_MAC = `
  WITH named AS (
    SELECT machine_id FROM machines WHERE spec -> 'mac_addresses' @> $2::jsonb AND service IS DISTINCT FROM 'deleted')
  SELECT machine_id FROM nodes JOIN machines USING (machine_id)
  WHERE mac_address = $1 AND service IS DISTINCT FROM 'deleted'
    AND (machine_id IN (SELECT machine_id FROM named) OR NOT EXISTS (SELECT FROM named))
  UNION ALL
  SELECT machine_id FROM nodes JOIN named USING (machine_id)
  WHERE mac_address <> $1 AND (SELECT count(*) FROM named) = 1
  LIMIT 1`;

export async function findNodeIdByMac(session: Session, mac: string): Promise<string | null> {
  const [row] = await session.run<{ machine_id: string }>('find-node-by-mac', FIND_BY_MAC, [
    mac,
    JSON.stringify([mac]),
  ]);
  return row?.machine_id ?? null;
}

/** Machines whose spec names the address, nodes or not. */
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
  readonly profile: string;
  readonly tags: readonly string[];
}

/**
 * Frees an address of a removed machine, or one that another machine's spec no longer has, for the machine that has
 * the hardware now.
 */
async function freeMac(session: Session, mac: string, machineId: string): Promise<void> {
  await session.run(
    'free-mac',
    `UPDATE nodes n SET mac_address = 'removed ' || n.machine_id FROM machines m
     WHERE n.mac_address = $1 AND n.machine_id <> $2 AND m.machine_id = n.machine_id
       AND (m.service = 'deleted' OR NOT m.spec -> 'mac_addresses' @> $3::jsonb)`,
    [mac, machineId, JSON.stringify([mac])],
  );
}

/**
 * A node uses an address of its machine's spec: an address that the spec no longer has may belong to another machine
 * soon.
 */
export async function followSpecMacs(session: Session, { machineId, spec }: Machine): Promise<void> {
  const [first] = spec.mac_addresses;
  if (first === undefined) return;
  await freeMac(session, first, machineId);
  await session.run(
    'follow-spec-macs',
    `UPDATE nodes SET mac_address = $2, updated_at = now() WHERE machine_id = $1 AND mac_address <> ALL($3)
       AND NOT EXISTS (SELECT FROM nodes WHERE mac_address = $2)`,
    [machineId, first, [...spec.mac_addresses]],
  );
}

/** False: the address or the machine already has a node. */
export async function insertNode(session: Session, node: NewNode): Promise<boolean> {
  const { facts } = node;
  await freeMac(session, node.macAddress, node.machineId);
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
      facts.arch || ARCHITECTURES[0],
      facts.bootMode || BOOT_MODES[0],
      facts.ipAddress,
      node.profile,
      node.tags,
    ],
  );
  return rows.length > 0;
}

export interface LockedNode {
  readonly machine: Machine;
  readonly node: Node;
}

export async function lockNode(
  session: Session,
  machineId: string,
  scope: Scope | null = null,
): Promise<LockedNode | null> {
  const machine = await lockMachineIn(session, machineId, scope);
  if (!machine) return null;
  const [row] = await session.run<NodeJoin>(
    'lock-node',
    `SELECT ${NODE_COLUMNS} FROM ${NODES} WHERE n.machine_id = $1 FOR NO KEY UPDATE OF n`,
    [machineId],
  );
  return row ? { machine, node: nodeOf(row) } : null;
}

/** The change of a node and its machine. */
export interface NodeChange extends LockedNode {
  readonly events: readonly NewEvent[];
  /** A report came: the installation has not stalled. */
  readonly reported?: true;
  /** The operation to wake. */
  readonly wakes?: string | null;
}

/** Locks a node, asks `decide` for the change, and writes it. Null from `decide`: no change. Null: no such node in the scope. */
export async function changeNode(
  database: Database,
  { machineId, scope }: { readonly machineId: string; readonly scope: Scope | null },
  decide: (locked: LockedNode, session: Session) => Promise<NodeChange | null> | NodeChange | null,
): Promise<Node | null> {
  return database.transaction(async (session) => {
    const locked = await lockNode(session, machineId, scope);
    if (!locked) return null;
    const change = await decide(locked, session);
    if (!change) return locked.node;
    if (scope !== null && !scope.contains(change.machine)) throw machineOutOfScope(machineId, scope);
    await writeNodeChange(session, locked, change);
    return findNode(session, machineId);
  });
}

export async function writeNodeChange(
  session: Session,
  before: LockedNode,
  change: NodeChange,
): Promise<void> {
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
    edited_facts = $28,
    last_report_at = CASE WHEN $27 THEN now() ELSE last_report_at END, wanted_overwrite = $29, erasure = $30::jsonb,
    reporter_address = $31,
    updated_at = now()
  WHERE machine_id = $1`;

async function writeNode(session: Session, { node, reported }: NodeChange): Promise<void> {
  const { facts, installRecord, order } = node;
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
    node.profile,
    node.tags,
    node.notes,
    installRecord.attempts,
    installRecord.lastError,
    installRecord.progress,
    installRecord.bootNo,
    installRecord.bootEnded,
    installRecord.firstBootNo,
    order.operationId,
    order.key,
    order.image,
    order.wantedAt,
    order.kickedAt,
    node.stateChangedAt,
    node.lastSeenAt,
    node.bootsIssued,
    reported === true,
    node.editedFacts,
    order.overwrite,
    node.erasure === null ? null : toStoredJson(node.erasure),
    node.reporterAddress,
  ]);
}

/** Whether the operation still runs forward: a canceled one installs nothing, also while it is being undone. */
export async function isOperationWanted(session: Session, operationId: string): Promise<boolean> {
  const rows = await session.run(
    'operation-wanted',
    `SELECT 1 AS found FROM operations
     WHERE operation_id = $1 AND status IN ('pending', 'running') AND NOT cancel_requested`,
    [operationId],
  );
  return rows.length > 0;
}
