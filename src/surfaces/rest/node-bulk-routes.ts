/** Many nodes at once: how many there are in which state, who is stuck, and one change for all of a list. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { installLifecycle } from '../../domain/install/install-state.ts';
import { statesOf } from '../../domain/lifecycle/lifecycle.ts';
import { approveNode } from '../../operations/nodes/node-approval.ts';
import { type BulkResult, forEachNode } from '../../operations/nodes/node-bulk.ts';
import {
  readBulkApproval,
  readBulkGroup,
  readBulkStateChange,
  readBulkTags,
  readBulkWorkflow,
} from '../../operations/nodes/node-input.ts';
import { patchNode, setNodeState, tagNode } from '../../operations/nodes/nodes.ts';
import { countNodes, listStalled } from '../../store/nodes/node-lists.ts';
import { checkMayMove, type NodeRouteDependencies, nodeBody, pageOf } from './node-routes.ts';
import { answerFaults, callerWith, faultBody } from './rest-errors.ts';

export interface NodeBulkRouteDependencies extends NodeRouteDependencies {
  readonly stalledAfterSeconds: number;
}

/** A thousand ids of the longest kind. */
const MAX_BODY_BYTES = 256 * 1024;

export async function nodeBulkRoutes(app: FastifyInstance, parts: NodeBulkRouteDependencies): Promise<void> {
  answerFaults(app, parts);
  summaryRoutes(app, parts);
  changeRoutes(app, parts);
}

function summaryRoutes(app: FastifyInstance, parts: NodeBulkRouteDependencies): void {
  const { nodes, stalledAfterSeconds } = parts;

  app.get('/api/v1/nodes/stats', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    const { total, byState, discoveredLastHour } = await countNodes(nodes.database);
    const stalled = await listStalled(nodes.database, stalledAfterSeconds, { limit: 1, offset: 0 });
    return reply.send({
      success: true,
      data: {
        total,
        by_state: Object.fromEntries(statesOf(installLifecycle).map((state) => [state, byState[state] ?? 0])),
        discovered_last_hour: discoveredLastHour,
        installing_count: byState.installing ?? 0,
        stalled_count: stalled.total,
      },
      message: `${total} nodes`,
    });
  });

  app.get('/api/v1/nodes/stalled', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    const page = pageOf(request.query as Record<string, unknown>);
    const found = await listStalled(nodes.database, stalledAfterSeconds, page);
    return reply.send({
      success: true,
      data: found.nodes.map(nodeBody),
      total: found.total,
      message: `${found.total} nodes are stuck: not seen for ${stalledAfterSeconds} seconds while they are installed, or booted from disk while they wait`,
    });
  });
}

function changeRoutes(app: FastifyInstance, parts: NodeBulkRouteDependencies): void {
  const { nodes } = parts;
  const options = { bodyLimit: MAX_BODY_BYTES };
  const done = (reply: FastifyReply, results: readonly BulkResult[], what: string) => {
    const succeeded = results.filter(({ node }) => node !== null).length;
    return reply.send({
      success: succeeded === results.length,
      data: results.map(resultBody),
      total: results.length,
      message: `${succeeded} of ${results.length} nodes ${what}`,
    });
  };

  app.post('/api/v1/nodes/bulk/state', options, async (request, reply) => {
    const caller = await callerWith(parts, request, 'operator');
    const { node_ids: ids, ...change } = readBulkStateChange(request.body);
    checkMayMove(caller, change.state);
    const results = await forEachNode(ids, (id) => setNodeState(nodes, id, change, caller.actor));
    return done(reply, results, `are ${change.state} now`);
  });

  app.post('/api/v1/nodes/bulk/approve', options, async (request, reply) => {
    const { actor } = await callerWith(parts, request, 'operator');
    const { node_ids: ids, ...approval } = readBulkApproval(request.body);
    const results = await forEachNode(ids, (id) => approveNode(nodes, id, approval, actor));
    return done(reply, results, 'are approved');
  });

  app.post('/api/v1/nodes/bulk/tags', options, async (request, reply) => {
    await callerWith(parts, request, 'operator');
    const { node_ids: ids, ...change } = readBulkTags(request.body);
    return done(reply, await forEachNode(ids, (id) => tagNode(nodes, id, change)), 'are tagged');
  });

  app.post('/api/v1/nodes/bulk/workflow', options, async (request, reply) => {
    const { actor } = await callerWith(parts, request, 'operator');
    const { node_ids: ids, workflow } = readBulkWorkflow(request.body);
    const results = await forEachNode(ids, (id) => patchNode(nodes, id, { workflow }, actor));
    return done(reply, results, workflow ? `have the workflow ${workflow}` : 'have the default workflow');
  });

  app.post('/api/v1/nodes/bulk/group', options, async (request, reply) => {
    const { actor } = await callerWith(parts, request, 'operator');
    const { node_ids: ids, group } = readBulkGroup(request.body);
    const results = await forEachNode(ids, (id) => patchNode(nodes, id, { group }, actor));
    return done(reply, results, group ? `are in the group ${group}` : 'are in no group');
  });
}

function resultBody({ id, node, fault }: BulkResult) {
  if (fault) return { id, success: false, ...faultBody(fault) };
  return {
    id,
    success: true,
    state: node?.state,
    workflow: node?.workflow || null,
    group: node?.group || null,
    tags: node?.tags,
  };
}
