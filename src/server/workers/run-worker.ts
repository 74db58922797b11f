/**
 * A worker: one replica among several on the same ports. The primary owns what exists once (the embedded PostgreSQL, the
 * migrations, the admin token) and reports when the database is prepared; everything else is as in a single-process server.
 *
 * A worker does not outlive its primary. When the channel closes without a stop message, the primary is dead: the worker hands
 * its work over, stops the orphaned PostgreSQL, and exits.
 */
import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { packageVersion } from '../../package-root.ts';
import type { Database } from '../../store/database/database.ts';
import { processStart } from '../../store/embedded/process-identity.ts';
import { readMigrations } from '../../store/schema/migration-files.ts';
import { checkSchema, readApplied } from '../../store/schema/schema-version.ts';
import { untilAborted } from '../../time/until-aborted.ts';
import { openDatabase } from '../prepare-database.ts';
import { type ServedReplica, serveReplica } from '../serve-replica.ts';
import { serverLog } from '../server-log.ts';
import { SettingError } from '../settings/settings.ts';
import { PrimaryLink } from './primary-link.ts';
import type { DatabaseState, WorkerStart } from './worker-messages.ts';

/** Work that is not handed over by then is claimed by other replicas when its leases end. */
const ORPHAN_GRACE_MS = 15_000;
const WRONG_SETTING = 64;

export async function runWorker(): Promise<never> {
  if (!cluster.worker) throw new Error('a worker is started by ingot serve with INGOT_WORKERS, not by hand');
  const primary = new PrimaryLink(cluster.worker);
  const start = await primary.started;
  const log = serverLog(start.settings, { worker: start.worker });
  const served = new WorkerReplica(primary, start, log);
  if (await served.start()) await untilAborted(primary.stopping);
  if (primary.isGone) {
    log.error('the primary process is gone; this worker hands its work over and exits');
    setTimeout(() => process.exit(1), ORPHAN_GRACE_MS);
  }
  await served.stop();
  if (primary.isGone) stopOrphanedPostgres(primary.state, log);
  process.exit(primary.isGone ? 1 : served.exitCode);
}

class WorkerReplica {
  readonly #primary: PrimaryLink;
  readonly #start: WorkerStart;
  readonly #log: Logger;
  #replica: ServedReplica | null = null;
  #database: Database | null = null;
  exitCode = 0;

  constructor(primary: PrimaryLink, start: WorkerStart, log: Logger) {
    this.#primary = primary;
    this.#start = start;
    this.#log = log;
  }

  /** False: a setting is wrong, which the primary reports, or it was stopped before it served. */
  async start(): Promise<boolean> {
    const { settings, configuration } = this.#start;
    try {
      const { httpPort, grpcPort, stop } = await serveReplica({
        settings,
        configuration,
        log: this.#log,
        signal: this.#primary.stopping,
        prepare: (waiting, signal) => this.#prepare(waiting, signal),
        onFatal: (error) => {
          this.#log.fatal({ err: error }, "the worker can't continue");
          process.exit(1);
        },
      });
      this.#replica = { httpPort, grpcPort, stop };
      this.#primary.send({ kind: 'serving', ports: { httpPort, grpcPort } });
      return true;
    } catch (error) {
      if (this.#primary.stopping.aborted) return false;
      if (!(error instanceof SettingError)) throw error;
      this.#primary.send({ kind: 'refused', message: error.message });
      this.exitCode = WRONG_SETTING;
      return false;
    }
  }

  async stop(): Promise<void> {
    await this.#replica?.stop();
    await this.#database?.close().catch((error: unknown) => this.#log.error({ err: error }, 'stopping'));
  }

  async #prepare(waiting: (cause: string) => Promise<void>, signal: AbortSignal): Promise<Database> {
    const { url } = await this.#primary.prepared(waiting, signal);
    this.#database ??= openDatabase(url, { settings: this.#start.settings, log: this.#log });
    checkSchema(await readApplied(this.#database), readMigrations(), packageVersion());
    return this.#database;
  }
}

/** Every worker does this; a repeated signal does no harm. */
function stopOrphanedPostgres(state: DatabaseState | null, log: Logger): void {
  if (state?.kind !== 'prepared' || state.postgres === null) return;
  const { pid, start } = state.postgres;
  // Another process may have the pid by now.
  if (start === undefined || processStart(pid) !== start) return;
  log.error({ pid }, 'stopping the PostgreSQL of the primary process that is gone');
  process.kill(pid, 'SIGINT');
}
