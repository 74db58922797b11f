/** The start of a console session, with a token or at an issuer: its row, its event and its cookie. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../../domain/access/caller.ts';
import type { Database } from '../../../store/database/database.ts';
import { createSession, type SessionOwner } from '../../../store/sessions.ts';
import { newSecret } from '../../../store/tokens.ts';
import { type CookieSettings, SESSION_COOKIE, setCookie } from '../../access/session-cookie.ts';
import type { SessionLimits } from '../../access/session-way-in.ts';

export interface SessionDependencies {
  readonly database: Database;
  readonly sessions: SessionLimits & CookieSettings;
  readonly newSessionId: () => string;
}

export interface BrowserCall {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Returns when the session ends at the latest. */
export async function startSession(
  call: BrowserCall,
  caller: Caller,
  owner: SessionOwner,
  { database, sessions, newSessionId }: SessionDependencies,
): Promise<Date> {
  const secret = newSecret();
  const expiresAt = await createSession(database, {
    secret,
    sessionId: newSessionId(),
    owner,
    absoluteSeconds: sessions.absoluteSeconds,
    actor: actorIn(call.request, caller),
  });
  setCookie(call, sessions, SESSION_COOKIE, { value: secret, maxAgeSeconds: null });
  return expiresAt;
}

export function actorIn(request: FastifyRequest, { actor, address, via }: Caller): Caller['actor'] {
  return { ...actor, origin: { address, requestId: request.id, via } };
}
