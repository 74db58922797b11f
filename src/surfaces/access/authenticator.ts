/**
 * Who is calling. Each way in (a token, a session, …) recognizes its own kind of credentials; the first one that does
 * decides, so a wrong token never falls through to a valid certificate.
 */
import type { Caller, Identity } from '../../domain/access/caller.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Credentials } from './credentials.ts';

export interface WayIn {
  /** Null: the credentials are of another kind. A fault: they are of this kind and not valid. */
  identify(credentials: Credentials): Promise<Identity> | null;
  /** Empties what is cached, because credentials may have been revoked. */
  forget(): void;
}

export class Authenticator {
  readonly #waysIn: readonly WayIn[];

  constructor(waysIn: readonly WayIn[]) {
    this.#waysIn = waysIn;
  }

  async caller(credentials: Credentials): Promise<Caller> {
    for (const wayIn of this.#waysIn) {
      const identity = wayIn.identify(credentials);
      if (identity) return { ...(await identity), address: credentials.address };
    }
    throw unauthenticated('a bearer token is required');
  }

  forget(): void {
    for (const wayIn of this.#waysIn) wayIn.forget();
  }
}

export function unauthenticated(message: string): Fault {
  return new Fault('UNAUTHENTICATED', { message });
}
