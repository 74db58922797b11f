/** Many nodes at once: how many are in which state, which are stuck, and one change for all of a list. */
import type { FastifyInstance } from 'fastify';
import type { Caller } from '../../../domain/access/caller.ts';
import { installLifecycle } from '../../../domain/install/install-state.ts';
import { statesOf } from '../../../domain/lifecycle/lifecycle.ts';
import { approveNode } from '../../../operations/nodes/node-approval.ts';
import { type BulkResult, forEachNode } from '../../../operations/nodes/node-bulk.ts';
import {
  readBulkApproval,
  readBulkGroup,
  readBulkStateChange,
  readBulkTags,
  readBulkWorkflow,
} from '../../../operations/nodes/node-input.ts';
import { patchNode, setNodeState, tagNode } from '../../../operations/nodes/nodes.ts';
import type { Database } from '../../../store/database/database.ts';
import { countNodes, listStalled } from '../../../store/nodes/node-lists.ts';
import { NODE_BULK_ROUTES } from '../api/node-api.ts';
import { pageOf } from '../query.ts';
import { answerFaults, faultBody } from '../rest-errors.ts';
import { serveRoutes } from '../serve-routes.ts';
import { nodeBody } from './node-bodies.ts';
import { checkMayMove, type NodeRouteDependencies } from './node-routes.ts';

export interface NodeBulkRouteDependencies extends NodeRouteDependencies {
  readonly stalledAfterSeconds: number;
}

export async function nodeBulkRoutes(
  app: FastifyInstance,
  dependencies: NodeBulkRouteDependencies,
): Promise<void> {
  const { nodes, stalledAfterSeconds } = dependencies;
  answerFaults(app, dependencies);
  const within = ({ scope }: Caller) => ({ ...nodes, scope });
  serveRoutes(app, NODE_BULK_ROUTES, dependencies, {
    stats: ({ caller }) => statsAnswer(nodes.database, stalledAfterSeconds, caller),
    stalled: async ({ query, caller: { scope } }) => {
      const found = await listStalled(nodes.database, stalledAfterSeconds, { ...pageOf(query), scope });
      return {
        success: true,
        data: found.nodes.map(nodeBody),
        total: found.total,
        message: `${found.total} nodes are stuck: not seen for ${stalledAfterSeconds} seconds while they are installed, or booted from disk while they wait`,
      };
    },
    setState: async ({ request, caller }) => {
      const { node_ids: ids, ...change } = readBulkStateChange(request.body);
      checkMayMove(caller, change.state);
      const results = await forEachNode(ids, (id) => setNodeState(within(caller), id, change, caller.actor));
      return bulkAnswer(results, `are ${change.state} now`);
    },
    approve: async ({ request, caller }) => {
      const { node_ids: ids, ...approval } = readBulkApproval(request.body);
      const results = await forEachNode(ids, (id) => approveNode(within(caller), id, approval, caller.actor));
      return bulkAnswer(results, 'are approved');
    },
    tag: async ({ request, caller }) => {
      const { node_ids: ids, ...change } = readBulkTags(request.body);
      const results = await forEachNode(ids, (id) => tagNode(within(caller), id, change, caller.actor));
      return bulkAnswer(results, 'are tagged');
    },
    setWorkflow: async ({ request, caller }) => {
      const { node_ids: ids, workflow } = readBulkWorkflow(request.body);
      const results = await forEachNode(ids, (id) =>
        patchNode(within(caller), id, { workflow }, caller.actor),
      );
      return bulkAnswer(results, workflow ? `have the workflow ${workflow}` : 'have the default workflow');
    },
    setGroup: async ({ request, caller }) => {
      const { node_ids: ids, group } = readBulkGroup(request.body);
      const results = await forEachNode(ids, (id) => patchNode(within(caller), id, { group }, caller.actor));
      return bulkAnswer(results, group ? `are in the group ${group}` : 'are in no group');
    },
  });
}

async function statsAnswer(database: Database, stalledAfterSeconds: number, { scope }: Caller) {
  const { total, byState, discoveredLastHour } = await countNodes(database, scope);
  const stalled = await listStalled(database, stalledAfterSeconds, { limit: 1, offset: 0, scope });
  return {
    success: true,
    data: {
      total,
      by_state: Object.fromEntries(statesOf(installLifecycle).map((state) => [state, byState[state] ?? 0])),
      discovered_last_hour: discoveredLastHour,
      installing_count: byState.installing ?? 0,
      stalled_count: stalled.total,
    },
    message: `${total} nodes`,
  };
}

function bulkAnswer(results: readonly BulkResult[], what: string) {
  const succeeded = results.filter(({ node }) => node !== null).length;
  return {
    success: succeeded === results.length,
    data: results.map(resultBody),
    total: results.length,
    message: `${succeeded} of ${results.length} nodes ${what}`,
  };
}

function resultBody({ id, node, fault }: BulkResult) {
  if (fault) return { id, success: false, ...faultBody(fault) };
  return {
    id,
    success: true,
    state: node?.state,
    workflow: node?.profile || null,
    group: node?.group || null,
    tags: node?.tags,
  };
}
