/** Bearer tokens of configured issuers: JWTs, verified with the issuer's published keys. */
import type { Identity } from '../../../domain/access/caller.ts';
import { tokenKey } from '../../../store/tokens.ts';
import { unauthenticated, type WayIn } from '../authenticator.ts';
import type { Credentials } from '../credentials.ts';
import { IdentityCache } from '../identity-cache.ts';
import { earlierEnd, type IdentityEnds } from '../identity-ends.ts';
import { bearerToken } from '../token-way-in.ts';
import { type Issuers, MAX_TOKEN } from './issuers.ts';

/** Tokens that Ingot issues have no dots. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

export class OidcWayIn implements WayIn {
  readonly #issuers: Issuers;
  readonly #ends: IdentityEnds;
  readonly #now: () => number;
  readonly #cache: IdentityCache;

  constructor(issuers: Issuers, ends: IdentityEnds, now: () => number) {
    this.#issuers = issuers;
    this.#ends = ends;
    this.#now = now;
    this.#cache = new IdentityCache(now);
  }

  identify({ authorization }: Credentials): Identity | Promise<Identity> | null {
    if (this.#issuers.all.length === 0) return null;
    const token = bearerToken(authorization);
    if (token === null || !JWT.test(token)) return null;
    return this.#ownerOf(token);
  }

  #ownerOf(token: string): Identity | Promise<Identity> {
    if (token.length > MAX_TOKEN) throw unauthenticated(`the token is longer than ${MAX_TOKEN} characters`);
    return this.#cache.get(tokenKey(token), async () => {
      const { issuer, claims, expiresAt } = await this.#issuers.verify(token);
      const mapped = this.#issuers.identityOf(issuer.configuration, claims);
      const end = earlierEnd(expiresAt, await this.#ends.check(mapped.actor.id)) ?? expiresAt;
      return { identity: { ...mapped, via: 'oidc', expiresAt: end }, validMs: end - this.#now() };
    });
  }

  forget(): void {
    this.#cache.clear();
  }
}
