/** One-time URLs for the next boot of a node. */
import type { FastifyInstance } from 'fastify';
import { DISC, discPlan } from '../../../operations/nodes/boot/boot-media.ts';
import { bootLoaderOf, issueBootUrl } from '../../../operations/nodes/boot/boot-url.ts';
import { getNode } from '../../../operations/nodes/nodes.ts';
import { BOOT_URL_ROUTES } from '../api/netboot-api.ts';
import { serveRoutes } from '../serve-routes.ts';
import { type BootRouteDependencies, baseUrlOf } from './boot-routes.ts';

export function bootUrlRoutes(app: FastifyInstance, dependencies: BootRouteDependencies): void {
  const { nodes, mediaUrl } = dependencies;
  serveRoutes(app, BOOT_URL_ROUTES, dependencies, {
    issue: async ({ request, reply, params, caller }) => {
      const within = { ...nodes, scope: caller.scope };
      const node = await getNode(within, params.id);
      const { secret, expiresAt } = await issueBootUrl(within, params.id, caller.actor);
      const baseUrl = baseUrlOf(dependencies, request);
      const folder = `${baseUrl}/boot/once/${secret}`;
      const disc = await discPlan(nodes, node, { secret, serverUrl: baseUrl });
      const loader = await bootLoaderOf(nodes, node);
      reply.header('cache-control', 'no-store').code(201);
      return {
        success: true,
        data: {
          url: `${folder}/${loader}`,
          script_url: `${folder}/autoexec.ipxe`,
          iso_url: 'obstacle' in disc ? null : `${mediaUrl ?? baseUrl}/boot/once/${secret}/${DISC}`,
          expires_at: expiresAt.toISOString(),
        },
        message: 'Set it through the BMC; it is not shown again',
      };
    },
  });
}
