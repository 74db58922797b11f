/** Registers the handlers of a table of routes: one for each row, called with the caller that the row asks for. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/access/caller.ts';
import { isRole, type Role } from '../../domain/actor.ts';
import { DEFAULT_BODY_BYTES } from '../limits/message-limits.ts';
import type { RequestLimits } from '../limits/request-limits.ts';
import { asSeenBy } from '../viewer-words.ts';
import type { RestRoute, RouteTable } from './api/route.ts';
import { recordRefused } from './refused-requests.ts';
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

/**
 * Checks a caller that is not an operator, before the body is read: it throws, or answers. Without one the handler checks
 * the caller, if it is to be checked at all.
 */
export type Gate = (request: FastifyRequest, reply: FastifyReply) => Promise<'open' | 'answered'>;

export interface ServeDependencies extends Pick<RestDependencies, 'authenticator' | 'refusals'> {
  /** Null: no limits, for health and readiness. */
  readonly limits: RequestLimits | null;
}

export function serveRoutes<Routes extends RouteTable>(
  app: FastifyInstance,
  routes: Routes,
  dependencies: ServeDependencies,
  handlers: RouteHandlers<Routes>,
  gates: { readonly [Name in keyof Routes]?: Gate } = {},
): void {
  const callers = new WeakMap<FastifyRequest, Caller>();
  for (const name of Object.keys(routes)) {
    const route = routes[name] as RestRoute;
    const handle = handlers[name] as (call: unknown) => unknown;
    const { caller: needed } = route;
    const gate = gates[name] ?? addressGate(dependencies);
    app.route({
      method: route.method,
      url: route.path,
      bodyLimit: route.maxBodyBytes ?? DEFAULT_BODY_BYTES,
      // Before the body is read: what a stranger sends costs nothing.
      onRequest: async (request, reply) => {
        if (!isRole(needed)) return (await gate(request, reply)) === 'open' ? undefined : reply;
        callers.set(request, await callerWith(dependencies, request, needed));
        return undefined;
      },
      onResponse: async (request, reply) => recordRefused(dependencies.refusals, request, reply),
      handler: async (request, reply) => {
        const caller = callers.get(request) ?? null;
        const call = { request, reply, params: request.params, query: request.query, caller };
        const answer = await handle(call);
        return answer === reply ? answer : asSeenBy(caller, answer);
      },
    });
  }
}

/** Callers without an identity count by their address. */
function addressGate({ limits }: ServeDependencies): Gate {
  return async ({ ip }) => {
    limits?.countAddress(ip ?? '');
    return 'open';
  };
}
