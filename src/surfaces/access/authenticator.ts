/**
 * Who is calling. Each way in (a token, a session, …) recognizes its own kind of credentials; the first one that does
 * decides, so a wrong token never falls through to a valid certificate.
 */
import type { Caller, Identity } from '../../domain/access/caller.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { RequestLimits } from '../limits/request-limits.ts';
import type { Credentials } from './credentials.ts';

export interface WayIn {
  /** Null: the credentials are of another kind. A fault: they are of this kind and not valid. At once where it is known. */
  identify(credentials: Credentials): Identity | Promise<Identity> | null;
  /** Empties what is cached, because credentials may have been revoked. */
  forget(): void;
}

export interface AuthenticatorOptions {
  readonly limits?: RequestLimits | null;
  /** Every caller that is let in. */
  readonly onUse?: (caller: Caller) => void;
}

export class Authenticator {
  readonly #waysIn: readonly WayIn[];
  readonly #limits: RequestLimits | null;
  readonly #onUse: (caller: Caller) => void;
  #changes = 0;

  constructor(waysIn: readonly WayIn[], { limits = null, onUse = () => {} }: AuthenticatorOptions = {}) {
    this.#waysIn = waysIn;
    this.#limits = limits;
    this.#onUse = onUse;
  }

  async caller(credentials: Credentials): Promise<Caller> {
    return this.callerNow(credentials);
  }

  /** The same without a promise where the identity is known: a busy client's calls all are such. Throws a refusal, too. */
  callerNow(credentials: Credentials): Caller | Promise<Caller> {
    return this.#identify(credentials, (error) => this.#refused(credentials, error));
  }

  /**
   * Of a caller that was let in before, whose stream or call is still open. It is no guess: wrong credentials of its address neither
   * count nor hide the refusal, or a flood of them would keep the stream of a revoked token open.
   */
  async callerAgain(credentials: Credentials): Promise<Caller> {
    return this.#identify(credentials, (error) => {
      throw error;
    });
  }

  #identify(credentials: Credentials, refuse: (error: unknown) => never): Caller | Promise<Caller> {
    for (const wayIn of this.#waysIn) {
      const identity = identifiedBy(wayIn, credentials, refuse);
      if (identity === null) continue;
      return identity instanceof Promise
        ? identity.then((found) => this.#letIn(found, credentials), refuse)
        : this.#letIn(identity, credentials);
    }
    this.#limits?.countAddress(credentials.address);
    throw unauthenticated('a bearer token is required');
  }

  /** Field by field, as everything that is made for each call: to spread an object costs a microsecond. */
  #letIn(identity: Identity, { address }: Credentials): Caller {
    const { role, methods, scope, actor, via, issuer, expiresAt } = identity;
    const caller: Caller =
      issuer === undefined
        ? { role, methods, scope, actor, via, expiresAt, address }
        : { role, methods, scope, actor, via, issuer, expiresAt, address };
    this.#onUse(caller);
    return caller;
  }

  /** A guesser gets another refusal, which says how long to wait. */
  #refused({ address, authorization, cookie }: Credentials, error: unknown): never {
    const credential = authorization ?? cookie;
    if (credential !== undefined && error instanceof Fault && error.kind === 'unauthenticated')
      this.#limits?.countFailedLogin({ address, credential });
    throw error;
  }

  /** Another number after every change of credentials: who was let in before it has to be checked again. */
  get changes(): number {
    return this.#changes;
  }

  forget(): void {
    this.#changes += 1;
    for (const wayIn of this.#waysIn) wayIn.forget();
  }
}

function identifiedBy(wayIn: WayIn, credentials: Credentials, refuse: (error: unknown) => never) {
  try {
    return wayIn.identify(credentials);
  } catch (error) {
    return refuse(error);
  }
}

export function unauthenticated(message: string): Fault {
  return new Fault('UNAUTHENTICATED', { message });
}
