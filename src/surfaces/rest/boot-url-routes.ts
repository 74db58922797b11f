/** One-time URLs for the next boot of a node. */
import type { FastifyInstance } from 'fastify';
import { bootLoaderOf, issueBootUrl } from '../../operations/nodes/boot-url.ts';
import { getNode } from '../../operations/nodes/nodes.ts';
import { BOOT_URL_ROUTES } from './api/netboot-api.ts';
import { type BootRouteDependencies, baseUrlOf } from './boot-routes.ts';
import { serveRoutes } from './serve-routes.ts';

export function bootUrlRoutes(app: FastifyInstance, dependencies: BootRouteDependencies): void {
  const { nodes } = dependencies;
  serveRoutes(app, BOOT_URL_ROUTES, dependencies, {
    issue: async ({ request, reply, params, caller }) => {
      const within = { ...nodes, scope: caller.scope };
      const node = await getNode(within, params.id);
      const { secret, expiresAt } = await issueBootUrl(within, params.id, caller.actor);
      const folder = `${baseUrlOf(dependencies, request)}/boot/once/${secret}`;
      const loader = await bootLoaderOf(nodes, node);
      reply.header('cache-control', 'no-store').code(201);
      return {
        success: true,
        data: {
          url: `${folder}/${loader}`,
          script_url: `${folder}/autoexec.ipxe`,
          expires_at: expiresAt.toISOString(),
        },
        message: 'Set it through the BMC; it is not shown again',
      };
    },
  });
}
