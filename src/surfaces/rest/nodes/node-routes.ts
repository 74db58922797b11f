/** Nodes: the install layer of the machines, as docs/nodes.md describes it. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Caller } from '../../../domain/access/caller.ts';
import { inAnyCase } from '../../../domain/any-case.ts';
import { Fault, invalidField } from '../../../domain/error/fault.ts';
import { installLifecycle } from '../../../domain/install/install-state.ts';
import type { Node } from '../../../domain/install/node.ts';
import { statesOf } from '../../../domain/lifecycle/lifecycle.ts';
import { serviceLifecycle } from '../../../domain/machine/service-state.ts';
import type { BootDependencies } from '../../../operations/nodes/boot/node-boot.ts';
import { stillMissing } from '../../../operations/nodes/install-plan.ts';
import {
  readNodeInput,
  readNodePatch,
  readStateChange,
  readTag,
} from '../../../operations/nodes/node-input.ts';
import {
  createNode,
  getNode,
  patchNode,
  retireNode,
  setNodeState,
  tagNode,
} from '../../../operations/nodes/nodes.ts';
import { findHardwareInventory } from '../../../store/hardware/hardware-inventories.ts';
import { listInventory } from '../../../store/machines/inventory-view.ts';
import { listNodes, nodeHistory } from '../../../store/nodes/node-lists.ts';
import { routeName } from '../../access/known-methods.ts';
import { requirePermission } from '../../access/require-permission.ts';
import { NODE_ROUTES, VIEWS } from '../api/node-api.ts';
import { macOf, oneOf, pageOf, type Query, textOf } from '../query.ts';
import { answerFaults, type RestDependencies } from '../rest-errors.ts';
import { serveRoutes } from '../serve-routes.ts';
import { hardwareBody, historyBody, inventoryBody, nodeBody } from './node-bodies.ts';

export interface NodeRouteDependencies extends RestDependencies {
  readonly nodes: BootDependencies;
}

export async function nodeRoutes(app: FastifyInstance, dependencies: NodeRouteDependencies): Promise<void> {
  const { nodes } = dependencies;
  answerFaults(app, dependencies);
  const within = ({ scope }: Caller) => ({ ...nodes, scope });
  serveRoutes(app, NODE_ROUTES, dependencies, {
    create: async ({ request, reply, caller }) => {
      const node = await createNode(within(caller), readNodeInput(request.body), caller.actor);
      return sendNode(reply.code(201), node, 'Node registered');
    },
    list: ({ query, caller }) => listAnswer(nodes, query, caller),
    get: async ({ params, caller }) => {
      const node = await getNode(within(caller), params.id);
      const kept = await findHardwareInventory(nodes.database, node.machineId);
      const data = { ...nodeBody(node), inventory: kept && hardwareBody(kept) };
      return { success: true, data, message: 'Node found' };
    },
    inventory: async ({ params, caller }) => {
      const { machineId } = await getNode(within(caller), params.id);
      const kept = await findHardwareInventory(nodes.database, machineId);
      if (!kept) throw noInventory(machineId);
      return { success: true, data: hardwareBody(kept) };
    },
    patch: async ({ request, reply, params, caller }) => {
      const node = await patchNode(within(caller), params.id, readNodePatch(request.body), caller.actor);
      return sendNode(reply, node, 'Node updated');
    },
    setState: async ({ request, reply, params, caller }) => {
      const change = readStateChange(request.body);
      checkMayMove(caller, change.state);
      const node = await setNodeState(within(caller), params.id, change, caller.actor);
      const missing = await stillMissing(nodes, nodes.database, node);
      return sendNode(reply, node, `Node is ${node.state}${missing === null ? '' : `: ${missing}`}`);
    },
    retire: async ({ reply, params, caller }) =>
      sendNode(reply, await retireNode(within(caller), params.id, caller.actor), 'Node retired'),
    addTag: async ({ request, reply, params, caller }) => {
      const change = { add: [readTag(request.body)], remove: [] };
      return sendNode(reply, await tagNode(within(caller), params.id, change, caller.actor), 'Tag added');
    },
    removeTag: async ({ reply, params, caller }) => {
      const change = { add: [], remove: [readTag({ tag: params.tag })] };
      return sendNode(reply, await tagNode(within(caller), params.id, change, caller.actor), 'Tag removed');
    },
    history: async ({ params, query, caller }) => {
      const { machineId } = await getNode(within(caller), params.id);
      const { entries, total } = await nodeHistory(nodes.database, machineId, pageOf(query));
      return { data: entries.map(historyBody), total };
    },
  });
}

function sendNode(reply: FastifyReply, node: Node, message: string): FastifyReply {
  return reply.send({ success: true, data: nodeBody(node), message });
}

async function listAnswer(nodes: BootDependencies, query: Query, { scope }: Caller) {
  const filter = {
    scope,
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
    return { success: true, data: entries.map(inventoryBody), total, message: `${total} machines` };
  }
  if (service !== null) throw invalidField('service', 'is for view=inventory');
  const found = await listNodes(nodes.database, filter);
  return {
    success: true,
    data: found.nodes.map(nodeBody),
    total: found.total,
    message: `${found.total} nodes`,
  };
}

/** Retiring is final, and an erasure ends in it: whichever call asks for them, they need the role admin. */
export function checkMayMove(caller: Caller, state: string): void {
  if (inAnyCase(['retired', 'deprovisioning'], state))
    requirePermission(caller, routeName(NODE_ROUTES.retire), 'admin');
}

function noInventory(machineId: string): Fault {
  return new Fault('NO_INVENTORY', {
    message: `${machineId} has reported no inventory yet: Ingot's installer does when the machine boots it`,
  });
}
