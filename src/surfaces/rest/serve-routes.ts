/** Registers the handlers of a table of routes: one for each row, called with the caller that the row asks for. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/access/caller.ts';
import { isRole, type Role } from '../../domain/actor.ts';
import type { RestRoute, RouteTable } from './api/route.ts';
import { callerWith, type RestDependencies } from './rest-errors.ts';

export interface RouteCall<Route extends RestRoute> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly params: { readonly [Name in keyof Route['params']]: string };
  readonly query: Readonly<Record<string, unknown>>;
  /** Where the row asks for a role: the operator who has it. Other callers are for the handler to check. */
  readonly caller: Route['caller'] extends Role ? Caller : null;
}

export type RouteHandlers<Routes extends RouteTable> = {
  readonly [Name in keyof Routes]: (call: RouteCall<Routes[Name]>) => unknown;
};

export function serveRoutes<Routes extends RouteTable>(
  app: FastifyInstance,
  routes: Routes,
  dependencies: Pick<RestDependencies, 'authenticator'>,
  handlers: RouteHandlers<Routes>,
): void {
  for (const name of Object.keys(routes)) {
    const route = routes[name] as RestRoute;
    const handle = handlers[name] as (call: unknown) => unknown;
    const { caller: needed } = route;
    app.route({
      method: route.method,
      url: route.path,
      ...(route.maxBodyBytes === undefined ? {} : { bodyLimit: route.maxBodyBytes }),
      handler: async (request, reply) => {
        const caller = isRole(needed) ? await callerWith(dependencies, request, needed) : null;
        return handle({ request, reply, params: request.params, query: request.query, caller });
      },
    });
  }
}
