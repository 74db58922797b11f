/**
 * Detects that a newer version migrated the schema while this replica runs. Most migrations keep older versions running; one
 * that does not declares it, and then this replica has to stop its work before it writes what the new schema forbids.
 */
import { BackgroundLoop, type LoopWatch } from '../../time/repeat-until-stopped.ts';
import type { Database } from '../database/database.ts';
import { readMigrations } from './migration-files.ts';
import { checkSchema, readApplied, SchemaTooNew } from './schema-version.ts';

const CHECK_MS = 5_000;

export interface SchemaWatchOptions {
  readonly database: Database;
  readonly version: string;
  /** Called once. */
  readonly onTooNew: (error: SchemaTooNew) => void;
  readonly watch: LoopWatch;
  readonly checkMs?: number;
}

export function startSchemaWatch(options: SchemaWatchOptions): { stop(): Promise<void> } {
  const known = readMigrations();
  let isTooNew = false;
  const loop = new BackgroundLoop({
    name: 'checking the schema',
    everyMs: options.checkMs ?? CHECK_MS,
    watch: options.watch,
    pass: async () => {
      if (isTooNew) return;
      try {
        checkSchema(await readApplied(options.database), known, options.version);
      } catch (error) {
        if (!(error instanceof SchemaTooNew)) throw error;
        isTooNew = true;
        options.onTooNew(error);
      }
    },
  });
  loop.start();
  return loop;
}
