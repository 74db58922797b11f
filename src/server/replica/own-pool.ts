import type { Logger } from 'pino';
import { Database } from '../../store/database/database.ts';
import { SHUTDOWN_GRACE_MS } from './replica-options.ts';
import type { RunningParts } from './running-parts.ts';

export interface OwnPool {
  readonly url: string;
  readonly maxConnections: number;
  readonly log: Logger;
}

/** Starts a part with a small connection pool of its own, so that operations never wait behind it. Both stop together. */
export function startWithOwnPool(
  running: RunningParts,
  name: string,
  { url, maxConnections, log }: OwnPool,
  create: (database: Database) => { start(): void; stop(graceMs: number): Promise<void> },
): void {
  const onIdleError = (error: unknown) => log.warn({ err: error }, 'lost a database connection');
  const database = new Database({ url, maxConnections, onIdleError });
  const part = create(database);
  part.start();
  running.stopWith(name, async () => {
    await part.stop(SHUTDOWN_GRACE_MS);
    await database.close();
  });
}
