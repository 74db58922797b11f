/**
 * The server as several processes: this one, the primary, owns the embedded PostgreSQL and prepares the database, and its
 * workers serve. It accepts the connections of both ports and hands them to the workers in turn, so a client sees one server.
 */

import { processStart } from '../../store/embedded/process-identity.ts';
import type { SupervisedPostgres } from '../../store/embedded/supervised-postgres.ts';
import { openDatabase, prepareDatabase, servingUrl, startEmbedded } from '../prepare-database.ts';
import { checkAddress } from '../settings/check-address.ts';
import { type Address, SETTINGS, type Settings } from '../settings/settings.ts';
import type { Server, ServerOptions } from '../start-server.ts';
import { untilDatabaseReady } from '../until-database-ready.ts';
import type { ProcessIdentity } from './worker-messages.ts';
import { WorkerProcesses } from './worker-processes.ts';

export type SupervisedOptions = Omit<ServerOptions, 'signal' | 'crashPoint'> & {
  readonly signal: AbortSignal;
};

/** Returns when all workers serve. */
export async function startSupervisedServer(given: SupervisedOptions): Promise<Server> {
  const options = { ...given, settings: await withPorts(given.settings) };
  const { settings } = options;
  const failed = new AbortController();
  let isServing = false;
  const workers = new WorkerProcesses({
    ...options,
    onFailed: (error) => (isServing ? options.onFatal(error) : failed.abort(error)),
  });
  let postgres: SupervisedPostgres | null = null;
  const stop = async () => {
    await workers.stop();
    await postgres?.stop();
  };
  /** So that a worker that outlives this process stops the PostgreSQL that runs then, not one that has ended. */
  const announce = () => {
    if (isServing && postgres) {
      workers.report({ kind: 'prepared', url: postgres.url, postgres: identityOf(postgres) });
    }
  };
  try {
    // Before the database: workers load their code while it starts, and answer /healthz until it is ready.
    workers.start();
    postgres = settings.databaseUrl === null ? await startEmbedded(options, announce) : null;
    const signal = AbortSignal.any([options.signal, failed.signal]);
    const adminTokenFile = await prepare(options, workers, postgres, signal);
    await unlessAborted(workers.allServing, signal);
    isServing = true;
    return {
      httpPort: settings.httpAddress.port,
      grpcPort: settings.grpcAddress.port,
      adminTokenFile,
      embedded: postgres !== null,
      stop,
    };
  } catch (error) {
    await stop();
    throw failed.signal.aborted ? failed.signal.reason : error;
  }
}

function identityOf(postgres: SupervisedPostgres | null): ProcessIdentity | null {
  return postgres && { pid: postgres.pid, start: processStart(postgres.pid) };
}

async function prepare(
  options: SupervisedOptions,
  workers: WorkerProcesses,
  postgres: SupervisedPostgres | null,
  signal: AbortSignal,
): Promise<string> {
  const url = options.settings.databaseUrl ?? postgres?.url ?? '';
  const serving = servingUrl(options, url);
  const database = openDatabase(serving, options);
  const waiting = async (cause: string) => workers.report({ kind: 'waiting', cause });
  try {
    const file = await untilDatabaseReady(
      () => prepareDatabase(options, database, { url, waiting, signal }),
      { log: options.log, signal, onWaiting: waiting },
    );
    workers.report({ kind: 'prepared', url: serving, postgres: identityOf(postgres) });
    return file;
  } finally {
    await database
      .close()
      .catch((error: unknown) => options.log.error({ err: error }, 'closing connections'));
  }
}

/** A free port is chosen once: workers that start later have to serve on the same port. */
async function withPorts(settings: Settings): Promise<Settings> {
  const chosen = async (address: Address, variable: string) =>
    address.port === 0 ? { ...address, port: await checkAddress(address, variable) } : address;
  return {
    ...settings,
    httpAddress: await chosen(settings.httpAddress, SETTINGS.httpAddress.variable),
    grpcAddress: await chosen(settings.grpcAddress, SETTINGS.grpcAddress.variable),
  };
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}
