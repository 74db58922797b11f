/**
 * How often, and with how many streams at once, one caller may call. A caller whose identity is known counts by it, and so
 * a fleet behind one address is not one caller; without an identity the address counts.
 */
import type { Caller } from '../../domain/access/caller.ts';
import { Fault } from '../../domain/error/fault.ts';
import { clientKey } from '../../domain/limit/address-key.ts';
import { KeyedRate } from '../../domain/limit/keyed-rate.ts';
import { type FailedLogin, FailedLogins } from './failed-logins.ts';
import { type LimitsConfiguration, perSecond } from './limits-configuration.ts';

const STREAM_RETRY_SECONDS = 5;

export class RequestLimits {
  readonly #failedLogins: FailedLogins;
  readonly #maxStreams: number;
  readonly #ofIdentity: KeyedRate;
  readonly #ofAddress: KeyedRate;
  readonly #streams = new Map<string, number>();

  /** `now` is in milliseconds. */
  constructor(limits: LimitsConfiguration, now: () => number) {
    this.#maxStreams = limits.streams_per_identity;
    this.#ofIdentity = new KeyedRate(perSecond(limits.calls_per_second_per_identity), now);
    this.#ofAddress = new KeyedRate(perSecond(limits.calls_per_second_per_address), now);
    this.#failedLogins = new FailedLogins(limits.failed_logins_per_address, now);
  }

  /** Counts a call of a known caller; throws when there are too many. */
  countCall(caller: Pick<Caller, 'actor' | 'via'>): void {
    this.countCallOf(identityKey(caller));
  }

  /** The same for what has another identity than operators have: an agent or a boot. */
  countCallOf(identity: string): void {
    refuseAfter(this.#ofIdentity.take(identity), 'too many calls of this identity; try again later');
  }

  /** Counts a call without a valid identity. */
  countAddress(address: string): void {
    refuseAfter(
      this.#ofAddress.take(clientKey(address)),
      'too many calls from this address; try again later',
    );
  }

  /** Counts wrong credentials; throws when they look like guesses. */
  countFailedLogin(login: FailedLogin): void {
    this.countAddress(login.address);
    const retryAfterSeconds = this.#failedLogins.failed(login);
    if (retryAfterSeconds === null) return;
    throw new Fault('TOO_MANY_FAILED_LOGINS', {
      message: 'too many wrong credentials; wait before the next attempt',
      retryAfterSeconds,
    });
  }

  /** Takes one of the streams of a caller; the function that is returned gives it back. */
  openStream(caller: Pick<Caller, 'actor' | 'via'>): () => void {
    return this.#openStream(identityKey(caller), 'this identity');
  }

  openStreamOfAddress(address: string): () => void {
    return this.#openStream(`address ${clientKey(address)}`, 'this address');
  }

  #openStream(key: string, whose: string): () => void {
    if (this.#maxStreams === 0) return () => {};
    const open = this.#streams.get(key) ?? 0;
    if (open >= this.#maxStreams) {
      throw new Fault('TOO_MANY_STREAMS', {
        message: `${whose} has ${open} streams open, and no more are allowed; close one, or try again later`,
        metadata: { limit: String(this.#maxStreams) },
        retryAfterSeconds: STREAM_RETRY_SECONDS,
      });
    }
    this.#streams.set(key, open + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#streams.get(key) ?? 1) - 1;
      if (left > 0) this.#streams.set(key, left);
      else this.#streams.delete(key);
    };
  }
}

function identityKey({ actor, via }: Pick<Caller, 'actor' | 'via'>): string {
  return `${via} ${actor.kind} ${actor.id}`;
}

function refuseAfter(retryAfterSeconds: number | null, message: string): void {
  if (retryAfterSeconds !== null) throw new Fault('RATE_LIMITED', { message, retryAfterSeconds });
}
