/**
 * Slows down guessing. An address that presents many different wrong credentials has to wait, and each further wrong one
 * doubles the time, up to a minute; so has a token prefix that is guessed at from many addresses. The same wrong credential
 * again is a client that was not updated: it counts once. Valid credentials are never delayed, so that others behind the
 * same address work on.
 */
import { createHash } from 'node:crypto';
import { clientKey } from '../../domain/limit/address-key.ts';

export interface FailedLogin {
  readonly address: string;
  /** The header that was presented; only its hash is kept. */
  readonly credential: string;
}

interface Guesser {
  /** Hashes of the last wrong credentials. */
  readonly seen: Set<string>;
  wrong: number;
  until: number;
  at: number;
}

const FORGET_MS = 900_000;
const LONGEST_DELAY_MS = 60_000;
const FIRST_DELAY_MS = 1_000;
const MOST_GUESSERS = 50_000;
const MOST_SEEN = 64;
const PREFIX_CHARACTERS = 12;
/** A prefix is shared by many clients when the site names its tokens alike. */
const PREFIX_FACTOR = 10;

export class FailedLogins {
  readonly #free: number;
  readonly #now: () => number;
  readonly #guessers = new Map<string, Guesser>();

  /** `free` wrong credentials cost nothing; zero: none ever does. */
  constructor(free: number, now: () => number) {
    this.#free = free;
    this.#now = now;
  }

  /** Counts it. The seconds that the guesser has to wait; null: none. */
  failed({ address, credential }: FailedLogin): number | null {
    if (this.#free === 0) return null;
    const hash = createHash('sha256').update(credential).digest('base64').slice(0, 16);
    const prefix = credential.replace(/^Bearer +/i, '').slice(0, PREFIX_CHARACTERS);
    const delays = [
      this.#count(`address ${clientKey(address)}`, hash, this.#free),
      this.#count(`prefix ${prefix}`, hash, this.#free * PREFIX_FACTOR),
    ];
    const longest = Math.max(...delays);
    return longest > 0 ? longest / 1000 : null;
  }

  #count(key: string, hash: string, free: number): number {
    const now = this.#now();
    const guesser = this.#recent(key, now);
    // What is presented while it waits does not make the wait longer: the client could never come back.
    if (guesser.until > now) return guesser.until - now;
    if (guesser.seen.has(hash)) return 0;
    if (guesser.seen.size >= MOST_SEEN) guesser.seen.clear();
    guesser.seen.add(hash);
    guesser.wrong += 1;
    guesser.at = now;
    if (guesser.wrong <= free) return 0;
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(20, guesser.wrong - free - 1));
    guesser.until = now + delay;
    return delay;
  }

  #recent(key: string, now: number): Guesser {
    const known = this.#guessers.get(key);
    if (known && known.at > now - FORGET_MS) return known;
    if (this.#guessers.size >= MOST_GUESSERS) {
      const [oldest] = this.#guessers.keys();
      if (oldest !== undefined) this.#guessers.delete(oldest);
    }
    const fresh: Guesser = { seen: new Set(), wrong: 0, until: 0, at: now };
    this.#guessers.delete(key);
    this.#guessers.set(key, fresh);
    return fresh;
  }
}
