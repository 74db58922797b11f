/** The table that `npm run test:security` prints: what was checked, how often, and what deviated. */
import { appendFileSync } from 'node:fs';

export interface SecurityRow {
  /** authorization, scopes, fuzz, floods, event loop or audit. */
  readonly part: string;
  readonly what: string;
  readonly cases: number;
  readonly deviations: number;
  /** Measured, for people. */
  readonly figures?: string;
}

/** Only in the long run, which names the file. */
export function addToSecurityTable(...rows: readonly SecurityRow[]): void {
  const file = process.env.INGOT_SECURITY_TABLE;
  if (file) appendFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}
