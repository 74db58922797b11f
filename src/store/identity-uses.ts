/** When and from where each identity of an issuer or a certificate was used last: kept in memory, written every few seconds. */
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';
import type { Database } from './database/database.ts';

export interface IdentityUsesOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
  readonly now: () => number;
}

export interface IdentityUse {
  readonly identity: string;
  readonly way: 'oidc' | 'certificate';
  readonly issuer: string;
  readonly role: string;
  readonly scope: string;
  readonly scopeTerms: readonly string[];
  readonly address: string;
}

const EVERY_MS = 5_000;
const MOST = 10_000;

const WRITE = `
  INSERT INTO identities AS known (identity, way, issuer, role, scope, scope_terms, first_used_at, last_used_at, last_used_from)
  SELECT i.identity, i.way, i.issuer, i.role, i.scope, ARRAY(SELECT jsonb_array_elements_text(i.terms)),
    to_timestamp(i.at / 1000.0), to_timestamp(i.at / 1000.0), i.address
  FROM jsonb_to_recordset($1::jsonb)
    AS i(identity text, way text, issuer text, role text, scope text, terms jsonb, at float8, address text)
  ORDER BY i.identity
  ON CONFLICT (identity) DO UPDATE SET way = EXCLUDED.way, issuer = EXCLUDED.issuer, role = EXCLUDED.role, scope = EXCLUDED.scope,
    scope_terms = EXCLUDED.scope_terms, first_used_at = coalesce(known.first_used_at, EXCLUDED.first_used_at),
    last_used_at = EXCLUDED.last_used_at, last_used_from = EXCLUDED.last_used_from
  WHERE known.last_used_at IS NULL OR known.last_used_at < EXCLUDED.last_used_at`;

export class IdentityUses {
  readonly #options: IdentityUsesOptions;
  readonly #loop: BackgroundLoop;
  #uses = new Map<string, IdentityUse & { readonly at: number }>();

  constructor(options: IdentityUsesOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'recording the use of identities',
      everyMs: EVERY_MS,
      pass: () => this.#write(),
      watch: options.watch,
    });
  }

  note(use: IdentityUse): void {
    if (this.#uses.size < MOST) this.#uses.set(use.identity, { ...use, at: this.#options.now() });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #write() {
    if (this.#uses.size === 0) return 'idle' as const;
    const uses = this.#uses;
    this.#uses = new Map();
    const rows = [...uses.values()].map(({ scopeTerms: terms, ...use }) => ({ ...use, terms }));
    await this.#options.database.run('write-identity-uses', WRITE, [JSON.stringify(rows)]);
    return 'passed' as const;
  }
}
