/**
 * Notices that a newer version migrated the schema under this replica. Most migrations leave older versions running; one
 * that does not says so, and then this replica has to stop working before it writes what the new schema forbids.
 */
import type { Database } from './database.ts';
import { readMigrations } from './migration-files.ts';
import { checkSchema, readApplied, SchemaTooNew } from './schema-version.ts';

const CHECK_MS = 5_000;

export interface SchemaWatchOptions {
  readonly database: Database;
  readonly version: string;
  /** Called once. */
  readonly onTooNew: (error: SchemaTooNew) => void;
  readonly onError: (error: unknown) => void;
  readonly checkMs?: number;
}

export function startSchemaWatch(options: SchemaWatchOptions): { stop(): Promise<void> } {
  const known = readMigrations();
  let checking = Promise.resolve();
  const check = async () => {
    try {
      checkSchema(await readApplied(options.database), known, options.version);
    } catch (error) {
      if (!(error instanceof SchemaTooNew)) return options.onError(error);
      clearInterval(timer);
      options.onTooNew(error);
    }
  };
  const timer = setInterval(() => {
    checking = checking.then(check);
  }, options.checkMs ?? CHECK_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await checking;
    },
  };
}
