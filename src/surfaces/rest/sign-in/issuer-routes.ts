/** Signing in to the console at an issuer. The browser comes back with a code, and leaves with a session. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Fault } from '../../../domain/error/fault.ts';
import { IssuerUnreachable } from '../../../issuers/issuer-fetch.ts';
import { recordRefusedSignIn } from '../../../store/sessions.ts';
import { credentialsOfRequest } from '../../access/credentials.ts';
import {
  attemptText,
  type CodeFlow,
  readAttempt,
  type SignInAttempt,
  SignInRefused,
} from '../../access/oidc/code-flow.ts';
import type { Issuers } from '../../access/oidc/issuers.ts';
import { decidingClaims } from '../../access/oidc/mapped-identity.ts';
import { cliClientOf, type IssuerConfiguration, sentToken } from '../../access/oidc/oidc-configuration.ts';
import { type CookieKind, cookieOf, isSecure, setCookie } from '../../access/session-cookie.ts';
import { ISSUER_ROUTES, type SignInFailure } from '../api/sign-in-api.ts';
import { textOf } from '../query.ts';
import { answerFaults, type RestDependencies } from '../rest-errors.ts';
import { serveRoutes } from '../serve-routes.ts';
import { type BrowserCall, type SessionDependencies, startSession } from './start-session.ts';

export interface IssuerRouteDependencies extends RestDependencies, SessionDependencies {
  readonly issuers: Issuers;
  readonly codeFlow: CodeFlow;
  readonly logFailure: (issuer: string, error: unknown) => void;
}

/** Lax: the browser comes back from another site. */
const ATTEMPT_COOKIE: CookieKind = { name: 'ingot_sign_in', sameSite: 'Lax' };
const ATTEMPT_SECONDS = 600;

export async function issuerRoutes(
  app: FastifyInstance,
  dependencies: IssuerRouteDependencies,
): Promise<void> {
  answerFaults(app, dependencies);
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  });
  serveRoutes(app, ISSUER_ROUTES, dependencies, {
    listMethods: () => ({ token: true, oidc: dependencies.issuers.all.map(methodBody) }),
    signIn: async ({ request, reply, query }) => {
      const issuer = dependencies.issuers.named(textOf(query, 'issuer') ?? '');
      const returnTo = safePath(textOf(query, 'return_to'));
      if (!issuer) return leaveFor(reply, failedAt('/', 'unknown_issuer'));
      try {
        return leaveFor(reply, await signInUrl({ request, reply }, issuer, returnTo, dependencies));
      } catch (error) {
        return leaveFor(reply, failedAt(returnTo, failureIn(error, issuer, dependencies)));
      }
    },
    finishSignIn: async ({ request, reply }) => {
      const { sessions } = dependencies;
      const attempt = readAttempt(cookieOf(request.headers.cookie, request, ATTEMPT_COOKIE, sessions) ?? '');
      setCookie({ request, reply }, sessions, ATTEMPT_COOKIE, { value: '', maxAgeSeconds: 0 });
      const issuer = attempt && dependencies.issuers.named(attempt.issuer);
      if (!attempt || !issuer) return leaveFor(reply, failedAt('/', 'expired'));
      const returnTo = safePath(attempt.returnTo);
      try {
        await finishSignIn({ request, reply }, attempt, issuer, dependencies);
        return leaveFor(reply, returnTo);
      } catch (error) {
        await recordRefusal(request, issuer, error, dependencies);
        return leaveFor(reply, failedAt(returnTo, failureIn(error, issuer, dependencies)));
      }
    },
  });
}

async function signInUrl(
  call: BrowserCall,
  issuer: IssuerConfiguration,
  returnTo: string,
  { codeFlow, sessions }: IssuerRouteDependencies,
): Promise<string> {
  const { url, attempt } = await codeFlow.start(issuer, callbackUrl(call.request, sessions), returnTo);
  setCookie(call, sessions, ATTEMPT_COOKIE, { value: attemptText(attempt), maxAgeSeconds: ATTEMPT_SECONDS });
  return url.href;
}

async function finishSignIn(
  call: BrowserCall,
  attempt: SignInAttempt,
  issuer: IssuerConfiguration,
  dependencies: IssuerRouteDependencies,
): Promise<void> {
  const { codeFlow, issuers, sessions } = dependencies;
  const answered = new URL(callbackUrl(call.request, sessions));
  answered.search = new URL(call.request.url, answered).search;
  const claims = decidingClaims(issuer, await codeFlow.finish(issuer, attempt, answered));
  const { address } = credentialsOfRequest(call.request);
  const identity = { ...issuers.identityOf(issuer, claims), via: 'oidc', expiresAt: null } as const;
  const owner = { kind: 'issuer', issuer: issuer.name, claims, expiresAt: null } as const;
  await startSession(call, { ...identity, address }, owner, dependencies);
}

/** Only of people whom the issuer knows: what strangers send would fill the history. */
async function recordRefusal(
  request: FastifyRequest,
  { name }: IssuerConfiguration,
  error: unknown,
  { database }: IssuerRouteDependencies,
): Promise<void> {
  if (!(error instanceof Fault) || error.reason !== 'NO_MAPPED_ROLE') return;
  const { address } = credentialsOfRequest(request);
  const origin = { address, requestId: request.id, via: 'oidc' };
  await recordRefusedSignIn(database, { kind: 'anonymous', id: error.metadata.name ?? '', origin }, name);
}

/** Where the issuer sends the browser back to; the issuer knows it too. */
function callbackUrl(request: FastifyRequest, sessions: SessionDependencies['sessions']): string {
  const own = `${isSecure(request, sessions) ? 'https' : 'http'}://${request.host}`;
  return `${sessions.publicUrl ?? own}/auth/callback`;
}

/** A page of the console, never another site: `//evil.example` and `/\evil.example` are other sites for a browser. */
function safePath(path: string | null): string {
  const base = 'http://console.invalid';
  if (path === null || path.length > 1_500 || !/^\/[\x21-\x7e]*$/.test(path) || !URL.canParse(path, base))
    return '/';
  const { origin, pathname, search, hash } = new URL(path, base);
  return origin === base && !pathname.startsWith('//') && !pathname.startsWith('/auth/')
    ? pathname + search + hash
    : '/';
}

function leaveFor(reply: BrowserCall['reply'], url: string) {
  return reply.code(303).header('location', url).send();
}

function failedAt(path: string, failure: SignInFailure): string {
  const url = new URL(path, 'http://console.invalid');
  url.searchParams.set('sign_in_failed', failure);
  return url.pathname + url.search + url.hash;
}

/** The page shows a text of its own for each: nothing that an issuer or a link says gets onto it. */
function failureIn(
  error: unknown,
  { name }: IssuerConfiguration,
  { logFailure }: IssuerRouteDependencies,
): SignInFailure {
  if (error instanceof Fault && error.reason === 'NO_MAPPED_ROLE') return 'no_role';
  if (error instanceof SignInRefused && error.message === 'access_denied') return 'denied';
  logFailure(name, error);
  return isUnreachable(error) ? 'unavailable' : 'rejected';
}

function isUnreachable(error: unknown): boolean {
  if (error instanceof Fault) return error.reason === 'ISSUER_UNAVAILABLE';
  if (error instanceof IssuerUnreachable) return true;
  return error instanceof Error && error.cause !== undefined && isUnreachable(error.cause);
}

function methodBody(issuer: IssuerConfiguration) {
  return {
    name: issuer.name,
    title: issuer.title ?? issuer.name,
    issuer: issuer.issuer,
    client_id: cliClientOf(issuer),
    scopes: issuer.scopes,
    ...sentToken(issuer),
  };
}
