/** Sessions of the console: started with a token, ended by signing out. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../../../domain/access/caller.ts';
import { Fault } from '../../../domain/error/fault.ts';
import { endSession, type SessionOwner } from '../../../store/sessions.ts';
import { hashToken } from '../../../store/tokens.ts';
import { unauthenticated } from '../../access/authenticator.ts';
import { credentialsOfRequest } from '../../access/credentials.ts';
import type { Issuers } from '../../access/oidc/issuers.ts';
import { decidingClaims } from '../../access/oidc/mapped-identity.ts';
import { cookieOf, SESSION_COOKIE, setCookie } from '../../access/session-cookie.ts';
import { bearerToken } from '../../access/token-way-in.ts';
import { SIGN_IN_ROUTES } from '../api/sign-in-api.ts';
import { answerFaults, type RestDependencies } from '../rest-errors.ts';
import { type RouteHandlers, serveRoutes } from '../serve-routes.ts';
import { actorIn, type BrowserCall, type SessionDependencies, startSession } from './start-session.ts';

export interface SignInDependencies extends RestDependencies, SessionDependencies {
  readonly issuers: Issuers;
  /** Empties the caches of this replica. */
  readonly sessionsChanged: () => void;
}

export async function signInRoutes(app: FastifyInstance, dependencies: SignInDependencies): Promise<void> {
  answerFaults(app, dependencies);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  const handlers: RouteHandlers<typeof SIGN_IN_ROUTES> = {
    showSession: async (call) => {
      const caller = await sessionCaller(call.request, dependencies);
      if (caller === null) clearCookie(call, dependencies);
      return caller === null ? { signed_in: false } : signedIn(caller, caller.expiresAt);
    },
    startSession: async (call) => {
      const { caller, owner } = await ownerOf(call.request, dependencies);
      const expiresAt = await startSession(call, caller, owner, dependencies);
      call.reply.code(201);
      return signedIn(caller, expiresAt.getTime());
    },
    endSession: async (call) => {
      const caller = await sessionCaller(call.request, dependencies);
      if (caller !== null) await endSessionOf(call.request, caller, dependencies);
      clearCookie(call, dependencies);
      return call.reply.code(204).send();
    },
  };
  serveRoutes(app, SIGN_IN_ROUTES, dependencies, handlers, {
    startSession: async (request) => {
      await bearerCaller(request, dependencies);
      return 'open';
    },
  });
}

/** Whose session the cookie is; null: there is no live session. */
async function sessionCaller(
  request: FastifyRequest,
  { authenticator, sessions }: SignInDependencies,
): Promise<Caller | null> {
  const credentials = { ...credentialsOfRequest(request), authorization: undefined, certificate: null };
  if (cookieOf(request.headers.cookie, request, SESSION_COOKIE, sessions) === null) return null;
  try {
    return await authenticator.caller(credentials);
  } catch (error) {
    if (error instanceof Fault && error.kind === 'unauthenticated') return null;
    throw error;
  }
}

/** Who the bearer token says is calling. A session starts with nothing else: neither a cookie nor a certificate. */
function bearerCaller(request: FastifyRequest, { authenticator }: SignInDependencies): Promise<Caller> {
  return authenticator.caller({ ...credentialsOfRequest(request), cookie: undefined, certificate: null });
}

async function ownerOf(
  request: FastifyRequest,
  dependencies: SignInDependencies,
): Promise<{ caller: Caller; owner: SessionOwner }> {
  const caller = await bearerCaller(request, dependencies);
  const secret = bearerToken(request.headers.authorization) ?? '';
  if (caller.via === 'token') return { caller, owner: { kind: 'token', tokenHash: hashToken(secret) } };
  if (caller.via !== 'oidc') throw unauthenticated('a session starts with a bearer token');
  const { issuer, claims, expiresAt } = await dependencies.issuers.verify(secret);
  const owner = {
    kind: 'issuer',
    issuer: issuer.configuration.name,
    claims: decidingClaims(issuer.configuration, claims),
    expiresAt: new Date(expiresAt),
  } as const;
  return { caller, owner };
}

async function endSessionOf(
  request: FastifyRequest,
  caller: Caller,
  { database, sessions, sessionsChanged }: SignInDependencies,
): Promise<void> {
  const secret = cookieOf(request.headers.cookie, request, SESSION_COOKIE, sessions);
  if (secret === null) return;
  await endSession(database, secret, actorIn(request, caller));
  sessionsChanged();
}

function clearCookie(call: BrowserCall, { sessions }: SignInDependencies): void {
  const { request } = call;
  if (cookieOf(request.headers.cookie, request, SESSION_COOKIE, sessions) === null) return;
  setCookie(call, sessions, SESSION_COOKIE, { value: '', maxAgeSeconds: 0 });
}

function signedIn({ actor, role, scope }: Caller, expiresAt: number | null) {
  return {
    signed_in: true,
    name: actor.id,
    role,
    scope: scope?.text ?? '',
    expires_at: expiresAt === null ? '' : new Date(expiresAt).toISOString(),
  };
}
