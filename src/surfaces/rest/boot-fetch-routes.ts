/** What machines have fetched while they booted: of one node, or of all with those that are no node's. */
import type { FastifyInstance } from 'fastify';
import { getNode } from '../../operations/nodes/nodes.ts';
import { type BootFetch, listBootFetches } from '../../store/nodes/boot-fetches.ts';
import type { BootRouteDependencies } from './boot-routes.ts';
import { macOf, pageOf, textOf } from './node-routes.ts';
import { callerWith } from './rest-errors.ts';

export function bootFetchRoutes(app: FastifyInstance, parts: BootRouteDependencies): void {
  const { nodes, fetches } = parts;

  app.get<{ Params: { id: string } }>('/api/v1/nodes/:id/boots', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    const { machineId } = await getNode(nodes, request.params.id);
    const page = pageOf(request.query as Record<string, unknown>);
    await fetches.flush();
    const found = await listBootFetches(nodes.database, { machineId, macAddress: null, ...page });
    return reply.send({ success: true, data: found.fetches.map(fetchBody), total: found.total });
  });

  app.get('/api/v1/boots', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    const query = request.query as Record<string, unknown>;
    const filter = { machineId: null, macAddress: macOf(textOf(query, 'mac')), ...pageOf(query) };
    await fetches.flush();
    const found = await listBootFetches(nodes.database, filter);
    return reply.send({ success: true, data: found.fetches.map(fetchBody), total: found.total });
  });
}

const orNull = (text: string): string | null => (text === '' ? null : text);

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
