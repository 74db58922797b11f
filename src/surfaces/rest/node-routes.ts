/** Document 4's nodes: the install layer of the same machines. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { inAnyCase } from '../../domain/any-case.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import type { KeptInventory } from '../../domain/install/hardware-inventory.ts';
import { installLifecycle } from '../../domain/install/install-state.ts';
import { macProblem, type Node, normalMac } from '../../domain/install/node.ts';
import { statesOf } from '../../domain/lifecycle/lifecycle.ts';
import { serviceLifecycle } from '../../domain/machine/service-state.ts';
import { stillMissing } from '../../operations/nodes/install-plan.ts';
import type { BootDependencies } from '../../operations/nodes/node-boot.ts';
import { readNodeInput, readNodePatch, readStateChange, readTag } from '../../operations/nodes/node-input.ts';
import {
  createNode,
  getNode,
  patchNode,
  retireNode,
  setNodeState,
  tagNode,
} from '../../operations/nodes/nodes.ts';
import { type InventoryEntry, listInventory } from '../../store/machines/inventory-view.ts';
import { findHardwareInventory } from '../../store/nodes/hardware-inventories.ts';
import { type HistoryEntry, listNodes, nodeHistory } from '../../store/nodes/node-lists.ts';
import type { Caller } from '../authenticate.ts';
import { answerFaults, callerWith, type RestDependencies, requireRole } from './rest-errors.ts';

export interface NodeRouteDependencies extends RestDependencies {
  readonly nodes: BootDependencies;
}

interface ById {
  readonly Params: { readonly id: string };
}

const MAX_BODY_BYTES = 64 * 1024;
const MAX_PAGE = 1000;
const DEFAULT_PAGE = 50;
/** Nodes alone, as document 4 has them; or every machine with its coarse state, document 3 §9.1. */
const VIEWS = ['nodes', 'inventory'] as const;

export async function nodeRoutes(app: FastifyInstance, parts: NodeRouteDependencies): Promise<void> {
  const { nodes } = parts;
  answerFaults(app, parts);
  const options = { bodyLimit: MAX_BODY_BYTES };
  const done = (reply: FastifyReply, node: Node, message: string) =>
    reply.send({ success: true, data: nodeBody(node), message });

  app.post('/api/v1/nodes', options, async (request, reply) => {
    const { actor } = await callerWith(parts, request, 'operator');
    const node = await createNode(nodes, readNodeInput(request.body), actor);
    return done(reply.code(201), node, 'Node registered');
  });

  app.get('/api/v1/nodes', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    const query = request.query as Record<string, unknown>;
    const filter = {
      state: oneOf(query, 'state', statesOf(installLifecycle)),
      tag: textOf(query, 'tag')?.toLowerCase() ?? null,
      group: textOf(query, 'group') ?? textOf(query, 'group_id'),
      workflow: textOf(query, 'workflow') ?? textOf(query, 'workflow_id'),
      mac: macOf(textOf(query, 'mac')),
      q: textOf(query, 'q'),
      ...pageOf(query),
    };
    const service = oneOf(query, 'service', statesOf(serviceLifecycle));
    const view = oneOf(query, 'view', VIEWS) ?? 'nodes';
    if (view === 'inventory') {
      const { entries, total } = await listInventory(nodes.database, { ...filter, service });
      return reply.send({
        success: true,
        data: entries.map(inventoryBody),
        total,
        message: `${total} machines`,
      });
    }
    if (service !== null) throw invalidField('service', 'is for view=inventory');
    const found = await listNodes(nodes.database, filter);
    return reply.send({
      success: true,
      data: found.nodes.map(nodeBody),
      total: found.total,
      message: `${found.total} nodes`,
    });
  });

  app.get<ById>('/api/v1/nodes/:id', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    const node = await getNode(nodes, request.params.id);
    const kept = await findHardwareInventory(nodes.database, node.machineId);
    const data = { ...nodeBody(node), inventory: kept && hardwareBody(kept) };
    return reply.send({ success: true, data, message: 'Node found' });
  });

  app.get<ById>('/api/v1/nodes/:id/inventory', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    const { machineId } = await getNode(nodes, request.params.id);
    const kept = await findHardwareInventory(nodes.database, machineId);
    if (!kept) {
      throw new Fault('NO_INVENTORY', {
        message: `${machineId} has reported no inventory yet: Ingot's installer does when the machine boots it`,
      });
    }
    return reply.send({ success: true, data: hardwareBody(kept) });
  });

  app.patch<ById>('/api/v1/nodes/:id', options, async (request, reply) => {
    const { actor } = await callerWith(parts, request, 'operator');
    const node = await patchNode(nodes, request.params.id, readNodePatch(request.body), actor);
    return done(reply, node, 'Node updated');
  });

  app.patch<ById>('/api/v1/nodes/:id/state', options, async (request, reply) => {
    const caller = await callerWith(parts, request, 'operator');
    const change = readStateChange(request.body);
    checkMayMove(caller, change.state);
    const node = await setNodeState(nodes, request.params.id, change, caller.actor);
    const missing = await stillMissing(nodes, nodes.database, node);
    return done(reply, node, `Node is ${node.state}${missing === null ? '' : `: ${missing}`}`);
  });

  app.delete<ById>('/api/v1/nodes/:id', async (request, reply) => {
    const { actor } = await callerWith(parts, request, 'admin');
    return done(reply, await retireNode(nodes, request.params.id, actor), 'Node retired');
  });

  app.post<ById>('/api/v1/nodes/:id/tags', options, async (request, reply) => {
    await callerWith(parts, request, 'operator');
    return done(
      reply,
      await tagNode(nodes, request.params.id, { add: [readTag(request.body)], remove: [] }),
      'Tag added',
    );
  });

  app.delete<{ Params: { id: string; tag: string } }>(
    '/api/v1/nodes/:id/tags/:tag',
    async (request, reply) => {
      await callerWith(parts, request, 'operator');
      const tag = readTag({ tag: request.params.tag });
      return done(reply, await tagNode(nodes, request.params.id, { add: [], remove: [tag] }), 'Tag removed');
    },
  );

  app.get<ById>('/api/v1/nodes/:id/history', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    const { machineId } = await getNode(nodes, request.params.id);
    const page = pageOf(request.query as Record<string, unknown>);
    const { entries, total } = await nodeHistory(nodes.database, machineId, page);
    return reply.send({ data: entries.map(historyBody), total });
  });
}

/** Retiring is final, and an erasure ends in it: by whichever call, they are an admin's to do. */
export function checkMayMove(caller: Caller, state: string): void {
  if (inAnyCase(['retired', 'deprovisioning'], state)) requireRole(caller, 'admin');
}

/** A parameter that is given twice means its first value. */
export function textOf(query: Record<string, unknown>, name: string): string | null {
  const value: unknown = query[name];
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' && first !== '' ? first : null;
}

function oneOf<T extends string>(
  query: Record<string, unknown>,
  name: string,
  values: readonly T[],
): T | null {
  const text = textOf(query, name);
  if (text === null) return null;
  const value = inAnyCase(values, text);
  if (!value) throw invalidField(name, `must be one of ${values.join(', ')}`);
  return value;
}

export function macOf(text: string | null): string | null {
  if (text === null) return null;
  const problem = macProblem(text);
  if (problem !== null) throw invalidField('mac', problem);
  return normalMac(text);
}

export function pageOf(query: Record<string, unknown>): { limit: number; offset: number } {
  return {
    limit: countOf(query, 'limit', DEFAULT_PAGE, 1, MAX_PAGE),
    offset: countOf(query, 'offset', 0, 0, Number.MAX_SAFE_INTEGER),
  };
}

function countOf(
  query: Record<string, unknown>,
  name: string,
  fallback: number,
  min: number,
  max: number,
): number {
  const text = textOf(query, name);
  if (text === null) return fallback;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw invalidField(name, `must be a whole number from ${min} to ${max}`);
  return value;
}

const orNull = (text: string): string | null => (text === '' ? null : text);

export function nodeBody(node: Node) {
  const { facts, story } = node;
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
    workflow: orNull(node.workflow),
    workflow_id: orNull(node.workflow),
    group: orNull(node.group),
    group_id: orNull(node.group),
    tags: node.tags,
    notes: orNull(node.notes),
    install_attempts: story.attempts,
    last_install_error: orNull(story.lastError),
    install_progress: story.progress,
    operation_id: node.order.operationId,
    erasure: node.erasure,
    state_changed_at: node.stateChangedAt.toISOString(),
    last_seen_at: node.lastSeenAt?.toISOString() ?? null,
    created_at: node.createdAt.toISOString(),
    updated_at: node.updatedAt.toISOString(),
  };
}

function hardwareBody({ source, reportedAt, changedAt, inventory }: KeptInventory) {
  return {
    source,
    reported_at: reportedAt.toISOString(),
    changed_at: changedAt.toISOString(),
    ...inventory,
  };
}

function inventoryBody(entry: InventoryEntry) {
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

function historyBody(entry: HistoryEntry) {
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
