/** When and from where each token was used last. It is kept in memory and written every few seconds, in one statement. */
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';
import type { Database } from './database/database.ts';

export interface TokenUsesOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
  readonly now: () => number;
}

interface Use {
  readonly at: number;
  readonly address: string;
}

const EVERY_MS = 5_000;
/** More tokens than this are not in use at once; what a forger makes up is refused before it is counted. */
const MAX_NAMES = 100_000;

const WRITE = `
  UPDATE tokens t SET last_used_at = to_timestamp(i.at / 1000.0), last_used_from = i.address
  FROM jsonb_to_recordset($1::jsonb) AS i(name text, at float8, address text)
  WHERE t.name = i.name AND t.revoked_at IS NULL
    AND (t.last_used_at IS NULL OR t.last_used_at < to_timestamp(i.at / 1000.0))`;

export class TokenUses {
  readonly #options: TokenUsesOptions;
  readonly #loop: BackgroundLoop;
  #uses = new Map<string, Use>();

  constructor(options: TokenUsesOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'recording the use of tokens',
      everyMs: EVERY_MS,
      pass: () => this.#write(),
      watch: options.watch,
    });
  }

  note(name: string, address: string): void {
    if (this.#uses.size < MAX_NAMES) this.#uses.set(name, { at: this.#options.now(), address });
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
    const rows = [...uses].map(([name, use]) => ({ name, ...use }));
    await this.#options.database.run('write-token-uses', WRITE, [JSON.stringify(rows)]);
    return 'passed' as const;
  }
}
