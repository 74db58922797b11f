/** What machines fetched while they booted: one node, or all machines, also those that are no node. */
import type { FastifyInstance } from 'fastify';
import { getNode } from '../../../operations/nodes/nodes.ts';
import { type BootFetch, listBootFetches } from '../../../store/nodes/boot-fetches.ts';
import { BOOT_FETCH_ROUTES } from '../api/netboot-api.ts';
import { orNull } from '../nodes/node-bodies.ts';
import { macOf, pageOf, textOf } from '../query.ts';
import { serveRoutes } from '../serve-routes.ts';
import type { BootRouteDependencies } from './boot-routes.ts';

export function bootFetchRoutes(app: FastifyInstance, dependencies: BootRouteDependencies): void {
  const { nodes, fetches } = dependencies;
  const answer = async (filter: Parameters<typeof listBootFetches>[1]) => {
    await fetches.flush();
    const found = await listBootFetches(nodes.database, filter);
    return { success: true, data: found.fetches.map(fetchBody), total: found.total };
  };
  serveRoutes(app, BOOT_FETCH_ROUTES, dependencies, {
    ofNode: async ({ params, query, caller: { scope } }) => {
      const { machineId } = await getNode({ ...nodes, scope }, params.id);
      return answer({ scope, machineId, macAddress: null, ...pageOf(query) });
    },
    all: ({ query, caller: { scope } }) =>
      answer({ scope, machineId: null, macAddress: macOf(textOf(query, 'mac')), ...pageOf(query) }),
  });
}

function fetchBody(fetch: BootFetch) {
  return {
    id: fetch.fetchId,
    node_id: orNull(fetch.machineId),
    boot: fetch.bootNo,
    mac_address: orNull(fetch.macAddress),
    address: fetch.address,
    fetched: fetch.kind,
    served: fetch.served,
    reason: orNull(fetch.reason),
    bytes: fetch.bytes,
    total_bytes: fetch.totalBytes,
    complete: fetch.complete,
    created_at: fetch.at.toISOString(),
  };
}
