/** Errors of the REST routes: `detail` for people, `reason` for programs. */
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/access/caller.ts';
import type { Role } from '../../domain/actor.ts';
import type { Fault } from '../../domain/error/fault.ts';
import type { FaultKind } from '../../domain/error/fault-kind.ts';
import type { RefusalLog } from '../../store/events/refusal-log.ts';
import { actingCaller } from '../access/acting-caller.ts';
import type { Authenticator } from '../access/authenticator.ts';
import { credentialsOfRequest } from '../access/credentials.ts';
import { requirePermission } from '../access/require-permission.ts';
import { badBodyText } from '../bad-body.ts';
import { faultOf, retryHeaders, WIRE } from '../fault-wire.ts';
import type { RequestLimits } from '../limits/request-limits.ts';
import { noteActor, noteReason } from './refused-requests.ts';

/** A wrong field is 422 here, and 400 means that the state does not allow the request. */
export const REST_STATUS: Readonly<Record<FaultKind, number>> = {
  ...(Object.fromEntries(Object.entries(WIRE).map(([kind, { http }]) => [kind, http])) as Record<
    FaultKind,
    number
  >),
  invalid_argument: 422,
};

export interface RestDependencies {
  readonly authenticator: Authenticator;
  /** Refused requests become events. */
  readonly refusals: Pick<RefusalLog, 'record'>;
  readonly limits: RequestLimits | null;
  readonly logUnexpected: (error: unknown, requestId: string, path: string) => void;
}

export function answerFaults(app: FastifyInstance, dependencies: RestDependencies): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error.statusCode !== undefined && error.statusCode < 500) {
      return reply.code(error.statusCode).send({ detail: badBodyText(error) });
    }
    const fault = faultOf(error, request.id, (cause) =>
      dependencies.logUnexpected(cause, request.id, request.routeOptions.url ?? ''),
    );
    noteReason(request, fault.reason);
    return reply.code(REST_STATUS[fault.kind]).headers(retryHeaders(fault)).send(faultBody(fault));
  });
}

export function faultBody(fault: Fault) {
  const { violations, metadata } = fault;
  return {
    detail: fault.message,
    reason: fault.reason,
    ...(fault.kind === 'already_exists' && metadata.machine_id ? { machine_id: metadata.machine_id } : {}),
    ...(fault.kind === 'invalid_argument' && violations.length > 0
      ? { errors: violations.map(({ subject, description }) => ({ field: subject, message: description })) }
      : {}),
  };
}

export async function callerWith(
  { authenticator, limits }: Pick<RestDependencies, 'authenticator' | 'limits'>,
  request: FastifyRequest,
  needed: Role,
): Promise<Caller> {
  const credentials = credentialsOfRequest(request);
  const caller = actingCaller(await authenticator.caller(credentials), request.id, credentials);
  noteActor(request, caller.actor);
  limits?.countCall(caller);
  requirePermission(caller, routeName(request), needed);
  return caller;
}

/** `METHOD /path`, as roles and refusals name a route. */
function routeName(request: FastifyRequest): string {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  return `${method} ${request.routeOptions.url ?? request.url}`;
}

/** The bearer token of a request, of an operator or of a boot. */
export function bearerOf(request: FastifyRequest): string | null {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
}
