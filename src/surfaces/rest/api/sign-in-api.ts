/** How people sign in to the console and learn how to sign in elsewhere (docs/sign-in.md). */
import { z } from 'zod';
import type { RouteTable } from './route.ts';

const NO_BODY_BYTES = 1024;

const SIGNED_IN = {
  name: z.string(),
  role: z.string(),
  scope: z.string().meta({ description: 'The machines that the session may see, as a filter. Empty: all.' }),
  expires_at: z.string().meta({ description: 'When the session ends at the latest.' }),
};

export const SIGN_IN_ROUTES = {
  showSession: {
    method: 'GET',
    path: '/auth/session',
    caller: 'anyone',
    summary: 'Whose session the cookie is',
    answers: {
      200: {
        description: 'The session, or that there is none.',
        schema: z.union([
          z.strictObject({ signed_in: z.literal(true), ...SIGNED_IN }),
          z.strictObject({ signed_in: z.literal(false) }),
        ]),
      },
    },
    refusals: ['CROSS_SITE_REQUEST'],
  },
  startSession: {
    method: 'POST',
    path: '/auth/session',
    caller: 'any operator',
    summary: 'Exchange the bearer token of the request for the cookie of a session',
    maxBodyBytes: NO_BODY_BYTES,
    answers: {
      201: {
        description: 'The session has started; its cookie is in Set-Cookie.',
        schema: z.strictObject({ signed_in: z.literal(true), ...SIGNED_IN }),
      },
    },
  },
  endSession: {
    method: 'DELETE',
    path: '/auth/session',
    caller: 'anyone',
    summary: 'Sign out: the session of the cookie ends',
    maxBodyBytes: NO_BODY_BYTES,
    answers: { 204: { description: 'There is no session any more.' } },
    refusals: ['CROSS_SITE_REQUEST'],
  },
} as const satisfies RouteTable;

/** Why signing in at an issuer failed; the console has a text for each. */
export type SignInFailure = 'denied' | 'expired' | 'no_role' | 'rejected' | 'unavailable' | 'unknown_issuer';

const ISSUER = z.strictObject({
  name: z.string(),
  title: z.string(),
  issuer: z.string(),
  client_id: z.string().meta({ description: 'The client of the command line.' }),
  scopes: z.array(z.string()),
  token: z.enum(['id_token', 'access_token']).meta({ description: 'Which token to send to this server.' }),
  resource: z.string().meta({ description: 'What to ask an access token for. Empty: nothing.' }),
});

const LEAVE = { 303: { description: 'The browser goes on, to the issuer or to a page of the console.' } };

export const ISSUER_ROUTES = {
  listMethods: {
    method: 'GET',
    path: '/auth/methods',
    caller: 'anyone',
    summary: 'How to sign in: with a token, and at which issuers',
    answers: {
      200: {
        description: 'The ways to sign in.',
        schema: z.strictObject({ token: z.literal(true), oidc: z.array(ISSUER) }),
      },
    },
  },
  signIn: {
    method: 'GET',
    path: '/auth/login',
    caller: 'anyone',
    summary: 'Sign in to the console at an issuer',
    query: {
      issuer: { description: 'The name of the issuer.', schema: z.string(), required: true },
      return_to: { description: 'The page to show afterwards: a path of this server.', schema: z.string() },
    },
    answers: LEAVE,
  },
  finishSignIn: {
    method: 'GET',
    path: '/auth/callback',
    caller: 'anyone',
    summary: 'Where an issuer sends the browser back to',
    answers: LEAVE,
  },
} as const satisfies RouteTable;
