/** What a database needs before a replica can serve from it: the newest schema, the pools, the plans and a first token. */

import { packageVersion } from '../package-root.ts';
import { ensurePools } from '../store/agents/pools.ts';
import { readKeys } from '../store/audit/audit-chain.ts';
import { grantAppendOnly } from '../store/audit/audit-privileges.ts';
import { ownKey } from '../store/audit/signing-key.ts';
import { Database } from '../store/database/database.ts';
import { asRole, WRITER } from '../store/embedded/roles.ts';
import { type SupervisedPostgres, startSupervisedPostgres } from '../store/embedded/supervised-postgres.ts';
import { type MigrationWait, migrate } from '../store/schema/migrate.ts';
import { ensureAdminToken } from './admin-token.ts';
import { auditKeyFile, openAuditKeys } from './audit/audit-key-file.ts';
import { recordSettings } from './audit/record-settings.ts';
import type { ReplicaOptions } from './replica/replica-options.ts';
import type { OnWaiting } from './serve-replica.ts';
import { type PlanFile, storePlanFiles } from './settings/plan-files.ts';
import { asSetting, mayPass } from './until-database-ready.ts';

export interface PrepareOptions extends Pick<ReplicaOptions, 'settings' | 'configuration' | 'log'> {
  readonly planFiles?: readonly PlanFile[];
  /** For tests: how many connections it works with at most. */
  readonly maxConnections?: number;
}

export interface Preparation {
  /** Of the owner of the tables. */
  readonly url: string;
  readonly waiting: OnWaiting;
  readonly signal: AbortSignal;
}

const MAX_CONNECTIONS = 16;
const TRANSACTION_IDLE_MS = 5_000;

/** Connects when it is first used. */
export function openDatabase(
  url: string,
  { settings, log, maxConnections = MAX_CONNECTIONS }: Omit<PrepareOptions, 'configuration'>,
): Database {
  return new Database({
    url,
    maxConnections,
    onIdleError: (error) => log.warn({ err: error }, 'lost a database connection'),
    transactionIdleMs: Math.min(TRANSACTION_IDLE_MS, settings.leaseMs),
  });
}

/** For each worker: 16 for work, 4 for probes, 2 for watchers, one for LISTEN; and some for operators and short tasks. */
function connectionsFor(workers: number): number {
  return Math.max(200, 24 * workers + 40);
}

/** `onRestarted`: a new PostgreSQL process replaced one that ended by itself. */
export function startEmbedded(
  { settings, log }: PrepareOptions,
  onRestarted: () => void = () => {},
): Promise<SupervisedPostgres> {
  return startSupervisedPostgres({
    dataDir: settings.dataDir,
    settings: { max_connections: String(connectionsFor(settings.workers)) },
    notice: (line) => log.info(line),
    log: (line) => log.debug({ postgres: line }, 'postgres'),
    onExit: ({ code, signal }) => log.error({ code, signal }, 'PostgreSQL stopped; it is started again'),
    onStarted: () => {
      log.info('PostgreSQL runs again');
      onRestarted();
    },
    onStartFailed: (error) =>
      log.error({ err: error }, 'PostgreSQL can not be started; the start is repeated'),
  });
}

/** May be repeated. Returns the path of the admin token's file. */
export async function prepareDatabase(
  options: PrepareOptions,
  database: Database,
  preparation: Preparation,
): Promise<string> {
  await migrateDatabase(options, preparation);
  if (options.settings.databaseUrl === null) await grantAppendOnly(preparation.url, WRITER);
  const auditKey = ownKey(openAuditKeys(auditKeyFile(options)), await readKeys(database));
  await recordSettings(database, options, auditKey);
  await ensurePools(database, options.configuration.pools);
  await storePlanFiles(database, options.planFiles ?? []);
  const { file } = await ensureAdminToken(database, options.settings.dataDir);
  return file;
}

/** The embedded PostgreSQL is served as a role that can only append to the event log; another one as its URL says. */
export function servingUrl({ settings }: Pick<PrepareOptions, 'settings'>, ownerUrl: string): string {
  return settings.databaseUrl === null ? asRole(ownerUrl, WRITER) : ownerUrl;
}

async function migrateDatabase(
  { settings, log }: PrepareOptions,
  { url, waiting, signal }: Preparation,
): Promise<void> {
  const version = packageVersion();
  const applied: string[] = [];
  try {
    await migrate(url, {
      version,
      signal,
      onApplied: (migration) => {
        log.debug({ migration }, 'applied a migration');
        applied.push(migration);
      },
      onUnknown: (migrations) =>
        log.warn(
          { migrations, version },
          'the schema is newer than this version, and declares that this version can run on it',
        ),
      onWaiting: async (wait) => {
        log.warn({ ...wait }, waitMessage(wait));
        await waiting(waitCause(wait));
      },
    });
    const [first] = applied;
    // A new database gets all of them, which is not worth a line.
    if (first && !first.startsWith('0001-')) log.info({ applied }, 'the schema was migrated');
  } catch (error) {
    if (settings.databaseUrl === null || signal.aborted || mayPass(error)) throw error;
    throw asSetting(error);
  }
}

function waitMessage({ migration }: MigrationWait): string {
  return migration === null
    ? 'waiting for another replica, which migrates the schema'
    : 'a migration is blocked by other sessions; it is repeated later';
}

/** Does not name the sessions: every caller of /readyz sees it. */
function waitCause({ migration }: MigrationWait): string {
  return migration === null
    ? 'another replica migrates the schema'
    : `migration ${migration} is blocked by other sessions of the database`;
}
