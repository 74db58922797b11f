/** The server: its database made ready, a replica on it, and both taken down in the reverse order. */
import { ensureAdminToken } from './admin-token.ts';
import { type PlanFile, storePlanFiles } from './plan-files.ts';
import { type Replica, type ReplicaOptions, startReplica } from './replica.ts';
import { SETTINGS, SettingError } from './settings.ts';
import { Database } from './store/database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './store/embedded/embedded-postgres.ts';
import { migrate } from './store/migrate.ts';
import { ensurePools } from './store/pools.ts';

export interface ServerOptions extends ReplicaOptions {
  readonly planFiles?: readonly PlanFile[];
  /** Called when the server can't go on by itself. */
  readonly onFatal: (error: Error) => void;
}

export interface Server extends Replica {
  readonly adminTokenFile: string;
  readonly embedded: boolean;
  stop(): Promise<void>;
}

const TRANSACTION_IDLE_MS = 5_000;

export async function startServer(options: ServerOptions): Promise<Server> {
  const { settings, log } = options;
  const cleanups: Array<() => Promise<void>> = [];
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) {
      await cleanup().catch((error: unknown) => log.error({ err: error }, 'stopping'));
    }
  };
  try {
    const postgres = settings.databaseUrl === null ? await embedded(options) : null;
    if (postgres) cleanups.push(() => postgres.stop());
    const url = settings.databaseUrl ?? postgres?.url ?? '';
    await migrate(url).catch((error: unknown) => {
      if (settings.databaseUrl === null) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      throw new SettingError(
        SETTINGS.databaseUrl.variable,
        `${message || 'no connection'} (${code ?? 'no code'})`,
      );
    });
    const database = new Database({
      url,
      maxConnections: 16,
      onIdleError: (error) => log.warn({ err: error }, 'lost a database connection'),
      transactionIdleMs: Math.min(TRANSACTION_IDLE_MS, settings.leaseMs),
    });
    cleanups.push(() => database.close());
    await ensurePools(database, options.configuration.pools);
    await storePlanFiles(database, options.planFiles ?? []);
    const { file } = await ensureAdminToken(database, settings.dataDir);
    const replica = await startReplica(options, database, cleanups);
    return { ...replica, adminTokenFile: file, embedded: postgres !== null, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function embedded(options: ServerOptions): Promise<EmbeddedPostgres> {
  const { settings, log, onFatal } = options;
  const postgres = await startEmbeddedPostgres({
    dataDir: settings.dataDir,
    log: (line) => log.debug({ postgres: line }, 'postgres'),
  });
  postgres.onExit(({ code, signal }) =>
    onFatal(new Error(`PostgreSQL stopped (${signal ?? `exit code ${code}`})`)),
  );
  return postgres;
}
