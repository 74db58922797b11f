/** Tokens of a Vault: each has a life, which a renewal starts again, and a longest life, which nothing extends. */
import { randomBytes, randomUUID } from 'node:crypto';

interface Token {
  readonly accessor: string;
  readonly createdAt: number;
  endsAt: number;
  readonly policies: readonly string[];
}

export interface TokenLives {
  readonly ttlSeconds: number;
  readonly maxTtlSeconds: number;
  readonly isRenewable: boolean;
}

/** As the member `auth` of an answer. */
export type AuthAnswer = Readonly<Record<string, unknown>>;

export class TokenStore {
  readonly #tokens = new Map<string, Token>();
  readonly #lives: TokenLives;
  readonly #now: () => number;

  constructor(lives: TokenLives, now: () => number) {
    this.#lives = lives;
    this.#now = now;
  }

  issue(policies: readonly string[], metadata: Readonly<Record<string, string>>): AuthAnswer {
    const text = `hvs.${randomBytes(18).toString('base64url')}`;
    const { ttlSeconds } = this.#lives;
    const now = this.#now();
    this.#tokens.set(text, {
      accessor: randomUUID(),
      createdAt: now,
      endsAt: now + ttlSeconds * 1000,
      policies,
    });
    return this.#answer(text, ttlSeconds, metadata);
  }

  /** Null: there is none, or it has expired or was revoked. */
  policiesOf(text: string): readonly string[] | null {
    return this.#live(text)?.policies ?? null;
  }

  renew(text: string): AuthAnswer | 'not_renewable' | 'past_max' {
    const token = this.#live(text);
    if (!token || !this.#lives.isRenewable) return 'not_renewable';
    const now = this.#now();
    const left = Math.floor((token.createdAt + this.#lives.maxTtlSeconds * 1000 - now) / 1000);
    if (left <= 0) return 'past_max';
    const seconds = Math.min(this.#lives.ttlSeconds, left);
    token.endsAt = now + seconds * 1000;
    return this.#answer(text, seconds, {});
  }

  lookUp(text: string): Readonly<Record<string, unknown>> {
    const token = this.#live(text);
    const ttl = token ? Math.max(0, Math.floor((token.endsAt - this.#now()) / 1000)) : 0;
    return {
      id: text,
      accessor: token?.accessor ?? '',
      policies: [...(token?.policies ?? ['root'])],
      ttl,
      renewable: token !== null && this.#lives.isRenewable,
      type: 'service',
    };
  }

  revoke(text: string): void {
    this.#tokens.delete(text);
  }

  revokeAll(): void {
    this.#tokens.clear();
  }

  #live(text: string): Token | null {
    const token = this.#tokens.get(text);
    return token && token.endsAt > this.#now() ? token : null;
  }

  #answer(text: string, seconds: number, metadata: Readonly<Record<string, string>>): AuthAnswer {
    const token = this.#tokens.get(text);
    const policies = token?.policies ?? [];
    return {
      client_token: text,
      accessor: token?.accessor ?? '',
      policies: ['default', ...policies],
      token_policies: ['default', ...policies],
      metadata,
      lease_duration: seconds,
      renewable: this.#lives.isRenewable,
      entity_id: '',
      token_type: 'service',
      orphan: true,
      mfa_requirement: null,
      num_uses: 0,
    };
  }
}
