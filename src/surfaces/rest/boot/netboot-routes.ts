/** What machines need to boot from the network, and what admins and operators see and change of it. */
import type { FastifyInstance } from 'fastify';
import { type ImageRouteDependencies, imageRoutes } from '../nodes/image-routes.ts';
import { workflowRoutes } from '../nodes/workflow-routes.ts';
import { answerFaults } from '../rest-errors.ts';
import { SecretReads } from '../secret-reads.ts';
import { bootFetchRoutes } from './boot-fetch-routes.ts';
import { baseUrlOf, bootRoutes } from './boot-routes.ts';
import { bootUrlRoutes } from './boot-url-routes.ts';
import { seedRoutes } from './seed-routes.ts';

export async function netbootRoutes(
  app: FastifyInstance,
  given: Omit<ImageRouteDependencies, 'reads'>,
): Promise<void> {
  const dependencies = { ...given, reads: new SecretReads(given.nodes.database) };
  answerFaults(app, dependencies);
  bootRoutes(app, dependencies);
  bootFetchRoutes(app, dependencies);
  bootUrlRoutes(app, dependencies);
  imageRoutes(app, dependencies);
  workflowRoutes(app, dependencies);
  seedRoutes(app, { ...dependencies, baseUrlOf: (request) => baseUrlOf(dependencies, request) });
}
