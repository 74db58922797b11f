/**
 * How the console signs in at an issuer: authorization code with PKCE. What is needed to finish (state, nonce, verifier) waits in
 * a cookie of the browser that started, so that any replica can finish, and no other browser can.
 */
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { z } from 'zod';
import { readReferredFile } from '../../../connections/credential-reference.ts';
import { discoverIssuer } from '../../../issuers/discover-issuer.ts';
import type { IdentityClaims } from '../../../store/sessions.ts';
import type { Issuers } from './issuers.ts';
import { lacksDecidingClaim } from './mapped-identity.ts';
import { fetchFor, type IssuerConfiguration } from './oidc-configuration.ts';

const short = z.string().min(1).max(200);
const attemptSchema = z.strictObject({
  issuer: short,
  state: short,
  nonce: short,
  verifier: short,
  returnTo: z.string().max(2_000),
});
export type SignInAttempt = z.output<typeof attemptSchema>;

/** The user, or the issuer, said no. */
export class SignInRefused extends Error {}

export function attemptText(attempt: SignInAttempt): string {
  return Buffer.from(JSON.stringify(attempt)).toString('base64url');
}

/** Null: it is none of ours. */
export function readAttempt(text: string): SignInAttempt | null {
  try {
    return attemptSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString())).data ?? null;
  } catch {
    return null;
  }
}

/** How long what an issuer says about itself is kept. */
const KEPT_MS = 300_000;

interface Client {
  readonly configuration: Promise<Configuration>;
  readonly until: number;
}

export class CodeFlow {
  readonly #issuers: Issuers;
  readonly #now: () => number;
  readonly #clients = new Map<string, Client>();

  constructor(issuers: Issuers, now: () => number) {
    this.#issuers = issuers;
    this.#now = now;
  }

  async start(issuer: IssuerConfiguration, redirectUri: string, returnTo: string) {
    const client = await this.#clientOf(issuer);
    const attempt: SignInAttempt = {
      issuer: issuer.name,
      state: randomState(),
      nonce: randomNonce(),
      verifier: randomPKCECodeVerifier(),
      returnTo,
    };
    const url = buildAuthorizationUrl(client, {
      redirect_uri: redirectUri,
      scope: issuer.scopes.join(' '),
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    });
    return { url, attempt };
  }

  /** `answered` is the URL that the issuer sent the browser back to. */
  async finish(issuer: IssuerConfiguration, attempt: SignInAttempt, answered: URL): Promise<IdentityClaims> {
    const client = await this.#clientOf(issuer);
    const tokens = await authorizationCodeGrant(client, answered, {
      pkceCodeVerifier: attempt.verifier,
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
      idTokenExpected: true,
    }).catch((error: unknown) => {
      if (error instanceof AuthorizationResponseError) throw new SignInRefused(error.error);
      throw error;
    });
    const { claims } = await this.#issuers.verify(tokens.id_token ?? '', issuer.client_id);
    // Many issuers put groups into their answer about a user, and not into the ID token.
    if (!lacksDecidingClaim(issuer, claims) || !client.serverMetadata().userinfo_endpoint) return claims;
    return { ...(await fetchUserInfo(client, tokens.access_token, String(claims.sub))), ...claims };
  }

  #clientOf(issuer: IssuerConfiguration): Promise<Configuration> {
    const kept = this.#clients.get(issuer.name);
    if (kept && kept.until > this.#now()) return kept.configuration;
    const configuration = discover(issuer);
    this.#clients.set(issuer.name, { configuration, until: this.#now() + KEPT_MS });
    configuration.catch(() => this.#clients.delete(issuer.name));
    return configuration;
  }
}

function discover(configuration: IssuerConfiguration): Promise<Configuration> {
  const { issuer, client_id: clientId } = configuration;
  const authentication = clientAuthentication(configuration);
  return discoverIssuer({ issuer, clientId, authentication, fetch: fetchFor(configuration) });
}

function clientAuthentication({ client_secret_file: file, client_auth: way }: IssuerConfiguration) {
  if (file === undefined) return None();
  const secret = readReferredFile(file).trim();
  return way === 'client_secret_post' ? ClientSecretPost(secret) : ClientSecretBasic(secret);
}
