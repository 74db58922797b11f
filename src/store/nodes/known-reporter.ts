/** Whether an installer at this address is known: an installation is under way, and it reports from there without a token. */
import type { Session } from '../database/database.ts';

export async function isKnownReporter(session: Session, address: string): Promise<boolean> {
  const rows = await session.run(
    'is-known-reporter',
    `SELECT 1 FROM nodes WHERE reporter_address = $1 AND reporter_address <> '' LIMIT 1`,
    [address],
  );
  return rows.length > 0;
}
