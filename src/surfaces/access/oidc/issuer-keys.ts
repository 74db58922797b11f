/**
 * The keys of an issuer, cached. Tokens are checked with what is cached and never wait for the issuer, except for a key that is
 * not known yet: keys rotate, so an unknown one asks the issuer, a few times a minute at most whatever tokens come. What is
 * cached is read again in the background; while the issuer does not answer, the keys that are known go on working for a day.
 */
import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTVerifyGetKey,
} from 'jose';
import { z } from 'zod';
import { Fault } from '../../../domain/error/fault.ts';
import { KeyedRate } from '../../../domain/limit/keyed-rate.ts';
import type { IssuerFetch } from '../../../issuers/issuer-fetch.ts';

export interface IssuerKeysOptions {
  readonly name: string;
  readonly issuer: string;
  readonly fetch: IssuerFetch;
  readonly now: () => number;
  /** The issuer could not be read; the problem is for the log. */
  readonly onProblem: (problem: unknown) => void;
}

interface KnownKeys {
  readonly find: JWTVerifyGetKey;
  readonly readAt: number;
}

const REFRESH_MS = 300_000;
const RETRY_MS = 15_000;
const MAX_STALE_MS = 86_400_000;
/** How often unknown keys may ask the issuer. */
const UNKNOWN_KEYS = { perSecond: 1 / 10, burst: 5 };

const metadataSchema = z.looseObject({ issuer: z.string(), jwks_uri: z.url() });
const keysSchema = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  readonly #unknownKeys: KeyedRate;
  #known: KnownKeys | null = null;
  #reading: Promise<KnownKeys> | null = null;
  #triedAt = Number.NEGATIVE_INFINITY;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
    this.#unknownKeys = new KeyedRate(UNKNOWN_KEYS, options.now);
  }

  /** Reads the keys in the background. A failure is reported and changes nothing. */
  warm(): void {
    const { now, onProblem } = this.#options;
    this.#triedAt = now();
    this.#read().catch(onProblem);
  }

  readonly keyFor: JWTVerifyGetKey = async (header, token) => {
    const known = this.#usable() ?? (await this.#readOrFail());
    if (this.#isDue(known)) this.warm();
    try {
      return await known.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      return await (await this.#readForUnknownKey(header)).find(header, token);
    }
  };

  #usable(): KnownKeys | null {
    const known = this.#known;
    return known && this.#options.now() - known.readAt < MAX_STALE_MS ? known : null;
  }

  #isDue({ readAt }: KnownKeys): boolean {
    const now = this.#options.now();
    return now - readAt >= REFRESH_MS && now - this.#triedAt >= RETRY_MS;
  }

  async #readForUnknownKey({ kid }: JWTHeaderParameters): Promise<KnownKeys> {
    if (this.#reading === null && this.#unknownKeys.take('') !== null) {
      throw new Fault('UNAUTHENTICATED', {
        message: `the token is signed with a key that ${this.#options.name} does not publish`,
        metadata: { issuer: this.#options.name, ...(kid === undefined ? {} : { kid: kid.slice(0, 100) }) },
      });
    }
    return this.#readOrFail();
  }

  async #readOrFail(): Promise<KnownKeys> {
    try {
      return await this.#read();
    } catch (error) {
      this.#options.onProblem(error);
      throw issuerUnavailable(this.#options.name);
    }
  }

  /** Tokens that arrive together share one request. */
  #read(): Promise<KnownKeys> {
    this.#reading ??= this.#fetchKeys().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #fetchKeys(): Promise<KnownKeys> {
    const { issuer, now } = this.#options;
    const metadata = metadataSchema.parse(
      await this.#json(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`),
    );
    if (metadata.issuer !== issuer)
      throw new Error(`${issuer} says that it is ${metadata.issuer.slice(0, 200)}`);
    if (new URL(metadata.jwks_uri).protocol !== new URL(issuer).protocol)
      throw new Error(`${issuer} has its keys at ${metadata.jwks_uri.slice(0, 200)}`);
    const keys = keysSchema.parse(await this.#json(metadata.jwks_uri));
    this.#known = { find: createLocalJWKSet(keys as JSONWebKeySet), readAt: now() };
    return this.#known;
  }

  async #json(url: string): Promise<unknown> {
    const answer = await this.#options.fetch(url, { headers: { accept: 'application/json' } });
    if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}`);
    return answer.json();
  }
}

function issuerUnavailable(name: string): Fault {
  return new Fault('ISSUER_UNAVAILABLE', {
    message: `the issuer ${name} does not answer; try again`,
    metadata: { issuer: name },
  });
}
