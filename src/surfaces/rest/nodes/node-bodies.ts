/** Nodes, their hardware and their history as the REST API shows them. */
import type { KeptInventory } from '../../../domain/install/hardware-inventory.ts';
import type { Node } from '../../../domain/install/node.ts';
import type { InventoryEntry } from '../../../store/machines/inventory-view.ts';
import type { HistoryEntry } from '../../../store/nodes/node-lists.ts';

export const orNull = (text: string): string | null => (text === '' ? null : text);

export function nodeBody(node: Node) {
  const { facts, installRecord } = node;
  return {
    id: node.machineId,
    mac_address: node.macAddress,
    hostname: orNull(facts.hostname),
    vendor: orNull(facts.vendor),
    model: orNull(facts.model),
    serial_number: orNull(facts.serialNumber),
    system_uuid: orNull(facts.systemUuid),
    arch: orNull(facts.arch),
    boot_mode: orNull(facts.bootMode),
    ip_address: orNull(facts.ipAddress),
    state: node.state,
    service: node.service,
    workflow: orNull(node.profile),
    workflow_id: orNull(node.profile),
    group: orNull(node.group),
    group_id: orNull(node.group),
    tags: node.tags,
    notes: orNull(node.notes),
    install_attempts: installRecord.attempts,
    last_install_error: orNull(installRecord.lastError),
    install_progress: installRecord.progress,
    operation_id: node.order.operationId,
    erasure: node.erasure,
    state_changed_at: node.stateChangedAt.toISOString(),
    last_seen_at: node.lastSeenAt?.toISOString() ?? null,
    created_at: node.createdAt.toISOString(),
    updated_at: node.updatedAt.toISOString(),
  };
}

export function hardwareBody({ source, reportedAt, changedAt, inventory }: KeptInventory) {
  return {
    source,
    reported_at: reportedAt.toISOString(),
    changed_at: changedAt.toISOString(),
    ...inventory,
  };
}

export function inventoryBody(entry: InventoryEntry) {
  return {
    id: entry.machineId,
    service: entry.service,
    state: entry.install,
    pool: entry.pool,
    mac_address: orNull(entry.macAddress),
    hostname: orNull(entry.hostname),
    workflow: orNull(entry.workflow),
    tags: entry.tags,
    created_at: entry.createdAt.toISOString(),
  };
}

export function historyBody(entry: HistoryEntry) {
  const isPerson = entry.actorKind === 'admin' || entry.actorKind === 'operator';
  return {
    id: entry.id,
    from_state: entry.from,
    to_state: entry.to,
    triggered_by: isPerson ? 'admin' : entry.actorKind,
    user_id: isPerson ? entry.actorId : null,
    comment: orNull(entry.comment),
    metadata: Object.keys(entry.metadata).length === 0 ? null : entry.metadata,
    created_at: entry.at.toISOString(),
  };
}
