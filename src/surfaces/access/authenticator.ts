/**
 * Who is calling. Each way in (a token, a session, …) recognizes its own kind of credentials; the first one that does
 * decides, so a wrong token never falls through to a valid certificate.
 */
import type { Caller, Identity } from '../../domain/access/caller.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { RequestLimits } from '../limits/request-limits.ts';
import type { Credentials } from './credentials.ts';

export interface WayIn {
  /** Null: the credentials are of another kind. A fault: they are of this kind and not valid. */
  identify(credentials: Credentials): Promise<Identity> | null;
  /** Empties what is cached, because credentials may have been revoked. */
  forget(): void;
}

export class Authenticator {
  readonly #waysIn: readonly WayIn[];
  readonly #limits: RequestLimits | null;

  constructor(waysIn: readonly WayIn[], limits: RequestLimits | null = null) {
    this.#waysIn = waysIn;
    this.#limits = limits;
  }

  async caller(credentials: Credentials): Promise<Caller> {
    for (const wayIn of this.#waysIn) {
      const identity = wayIn.identify(credentials);
      if (identity)
        return {
          ...(await identity.catch((error) => this.#refused(credentials, error))),
          address: credentials.address,
        };
    }
    this.#limits?.countAddress(credentials.address);
    throw unauthenticated('a bearer token is required');
  }

  /** A guesser gets another refusal, which says how long to wait. */
  #refused({ address, authorization, cookie }: Credentials, error: unknown): never {
    const credential = authorization ?? cookie;
    if (credential !== undefined && error instanceof Fault && error.kind === 'unauthenticated')
      this.#limits?.countFailedLogin({ address, credential });
    throw error;
  }

  forget(): void {
    for (const wayIn of this.#waysIn) wayIn.forget();
  }
}

export function unauthenticated(message: string): Fault {
  return new Fault('UNAUTHENTICATED', { message });
}
