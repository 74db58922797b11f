/**
 * The routes of Connect and gRPC-Web: one for each service, and not one for each method as the library has it. fastify compiles
 * every route for every HTTP method, so the library's routes were a third of the time in which a server starts.
 */
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { LARGEST_BODY_BYTES } from '../limits/message-limits.ts';
import { connectContext, connectRoutes } from './connect-routes.ts';
import type { CallDependencies, Service } from './service.ts';

export interface ConnectMount {
  readonly services: readonly Service[];
  readonly dependencies: CallDependencies;
  /** Answers a path of a service that names no method. */
  readonly notFound: (request: FastifyRequest, reply: FastifyReply) => void;
}

export function mountConnect(scope: FastifyInstance, mount: ConnectMount): void {
  // Connect parses its own bodies.
  scope.removeContentTypeParser('application/json');
  const handlers = new Map<string, RouteHandlerMethod>();
  // Before anything is read of a request that no one answers.
  scope.addHook('onRequest', (request, reply, done) => {
    if (handlers.has(pathOf(request))) done();
    else mount.notFound(request, reply);
  });
  fastifyConnectPlugin(
    collecting(scope, handlers),
    {
      routes: connectRoutes(mount.services, mount.dependencies),
      contextValues: connectContext,
      readMaxBytes: LARGEST_BODY_BYTES,
      // Emit fields that are false, 0 or empty: readers of JSON expect them.
      jsonOptions: { alwaysEmitImplicit: true },
      grpc: false,
    },
    () => {},
  );
  for (const { desc } of mount.services)
    scope.all(`/${desc.typeName}/:method`, function answer(request, reply) {
      return handlers.get(pathOf(request))?.call(this, request, reply);
    });
}

/** The scope as the library sees it: its parsers are the scope's own, and its routes are kept by their paths. */
function collecting(scope: FastifyInstance, handlers: Map<string, RouteHandlerMethod>): FastifyInstance {
  const all = (path: string, _options: object, handler: RouteHandlerMethod) => {
    handlers.set(path, handler);
  };
  return Object.create(scope, { all: { value: all } }) as FastifyInstance;
}

function pathOf({ url }: FastifyRequest): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}
