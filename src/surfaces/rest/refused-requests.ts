/** Refused requests of the REST routes as events, with what handlers found out about them. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../../domain/actor.ts';
import type { RefusalLog } from '../../store/events/refusal-log.ts';
import { anonymousActor } from '../access/acting-caller.ts';

interface Noted {
  actor?: Actor;
  reason?: string;
}

const noted = new WeakMap<FastifyRequest, Noted>();

/** Who sends the request; unless this is called, an anonymous caller. */
export function noteActor(request: FastifyRequest, actor: Actor): void {
  noted.set(request, { ...noted.get(request), actor });
}

/** Why it is refused; unless this is called, its status says it. */
export function noteReason(request: FastifyRequest, reason: string): void {
  noted.set(request, { ...noted.get(request), reason });
}

const UNAVAILABLE = 503;

export function recordRefused(
  refusals: Pick<RefusalLog, 'record'>,
  request: FastifyRequest,
  { statusCode: status }: Pick<FastifyReply, 'statusCode'>,
): void {
  if (!isRefused(status)) return;
  const { actor, reason } = noted.get(request) ?? {};
  refusals.record({
    actor: actor ?? anonymousActor(request.ip ?? '', request.id),
    method: `${request.method} ${request.routeOptions.url ?? ''}`,
    reason: reason ?? reasonOfStatus(status),
  });
}

/** That a server is not available is no refusal. */
export function isRefused(status: number): boolean {
  return status >= 400 && status !== UNAVAILABLE;
}

export function reasonOfStatus(status: number): string {
  return `HTTP_${status}`;
}
