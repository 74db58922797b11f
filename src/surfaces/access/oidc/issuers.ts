/** The configured issuers: their tokens are verified here, and their claims become identities. */
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import type { RoleTable } from '../../../domain/access/caller.ts';
import type { IdentityClaims } from '../../../store/sessions.ts';
import { unauthenticated } from '../authenticator.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { type MappedIdentity, mappedIdentity } from './mapped-identity.ts';
import { audiencesOf, fetchFor, type IssuerConfiguration } from './oidc-configuration.ts';

/** Asymmetric ones only: with a shared secret, everyone who can check a token can make one. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** An access token or an ID token; never a logout token or a proof. */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);
export const MAX_TOKEN = 16_384;

export interface IssuersOptions {
  readonly issuers: readonly IssuerConfiguration[];
  readonly roles: RoleTable;
  readonly now: () => number;
  readonly onProblem: (issuer: string, problem: unknown) => void;
}

export interface VerifiedToken {
  readonly issuer: Issuer;
  readonly claims: IdentityClaims;
  /** In milliseconds since 1970, with the clock skew. */
  readonly expiresAt: number;
}

export interface Issuer {
  readonly configuration: IssuerConfiguration;
  readonly keys: IssuerKeys;
}

export class Issuers {
  readonly #issuers: readonly Issuer[];
  readonly #roles: RoleTable;
  readonly #now: () => number;

  constructor({ issuers, roles, now, onProblem }: IssuersOptions) {
    this.#roles = roles;
    this.#now = now;
    this.#issuers = issuers.map((configuration) => {
      const { name, issuer } = configuration;
      const fetch = fetchFor(configuration);
      const report = (problem: unknown) => onProblem(name, problem);
      return { configuration, keys: new IssuerKeys({ name, issuer, fetch, now, onProblem: report }) };
    });
  }

  get all(): readonly IssuerConfiguration[] {
    return this.#issuers.map(({ configuration }) => configuration);
  }

  /** The start of the server does not wait for any issuer. */
  warm(): void {
    for (const { keys } of this.#issuers) keys.warm();
  }

  named(name: string): IssuerConfiguration | null {
    return this.all.find((one) => one.name === name) ?? null;
  }

  identityOf(issuer: IssuerConfiguration, claims: IdentityClaims): MappedIdentity {
    return mappedIdentity(issuer, this.#roles, claims);
  }

  async verify(token: string, audience?: string): Promise<VerifiedToken> {
    const issuer = this.#issuerOf(token);
    const { configuration, keys } = issuer;
    const skewSeconds = configuration.clock_skew_seconds;
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys.keyFor, {
        issuer: configuration.issuer,
        audience: audience ?? audiencesOf(configuration),
        algorithms: ALGORITHMS,
        clockTolerance: skewSeconds,
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(this.#now()),
      });
      if (!TYPES.has((protectedHeader.typ ?? 'JWT').toLowerCase()))
        throw unauthenticated(`a token of the type ${protectedHeader.typ} opens nothing`);
      return { issuer, claims: payload, expiresAt: ((payload.exp ?? 0) + skewSeconds) * 1000 };
    } catch (error) {
      throw error instanceof errors.JOSEError
        ? unauthenticated(`the token of ${configuration.name} is not valid: ${problemIn(error)}`)
        : error;
    }
  }

  /** By what the token says, unverified: it only chooses which keys the token is checked with. */
  #issuerOf(token: string): Issuer {
    let payload: JWTPayload;
    try {
      payload = decodeJwt(token);
    } catch {
      throw unauthenticated('the token is no valid JWT');
    }
    const found = this.#issuers.find(({ configuration }) => configuration.issuer === payload.iss);
    if (found) return found;
    throw unauthenticated('the issuer of the token is not configured here');
  }
}

function problemIn(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return claimProblem(error);
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not accepted';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is not one that the issuer publishes';
  return 'it cannot be verified';
}

function claimProblem({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (claim === 'nbf') return 'it is not valid yet';
  if (claim === 'aud') return 'it is not for this server';
  return reason === 'missing' ? `it has no claim ${claim}` : `its claim ${claim} is not accepted`;
}
