/**
 * The server as several processes: this one, the primary, owns the embedded PostgreSQL and prepares the database, and its
 * workers serve. It listens for all of them and deals connections out in turn, so both ports are one server to a client.
 */

import { processStart } from '../../store/embedded/process-identity.ts';
import type { SupervisedPostgres } from '../../store/embedded/supervised-postgres.ts';
import { openDatabase, prepareDatabase, startEmbedded } from '../prepare-database.ts';
import type { Server, ServerOptions } from '../server.ts';
import { checkAddress } from '../settings/check-address.ts';
import { type Address, SETTINGS, type Settings } from '../settings/settings.ts';
import { untilDatabaseReady } from '../until-database-ready.ts';
import { WorkerCrew } from './worker-crew.ts';
import type { ProcessIdentity } from './worker-messages.ts';

export type SupervisedOptions = Omit<ServerOptions, 'signal' | 'reach'> & { readonly signal: AbortSignal };

/** Returns when all workers serve. */
export async function startSupervisedServer(given: SupervisedOptions): Promise<Server> {
  const options = { ...given, settings: await withPorts(given.settings) };
  const { settings } = options;
  const failed = new AbortController();
  let isServing = false;
  const crew = new WorkerCrew({
    ...options,
    onFailed: (error) => (isServing ? options.onFatal(error) : failed.abort(error)),
  });
  let postgres: SupervisedPostgres | null = null;
  const stop = async () => {
    await crew.stop();
    await postgres?.stop();
  };
  /** A worker that outlives this process stops the PostgreSQL that runs then, not one that ended long ago. */
  const announce = () => {
    if (isServing && postgres) {
      crew.report({ kind: 'prepared', url: postgres.url, postgres: identityOf(postgres) });
    }
  };
  try {
    // Before the database: they load their code while it starts, and answer /healthz while it is waited for.
    crew.start();
    postgres = settings.databaseUrl === null ? await startEmbedded(options, announce) : null;
    const signal = AbortSignal.any([options.signal, failed.signal]);
    const adminTokenFile = await prepare(options, crew, postgres, signal);
    await unlessAborted(crew.allServing, signal);
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
  crew: WorkerCrew,
  postgres: SupervisedPostgres | null,
  signal: AbortSignal,
): Promise<string> {
  const url = options.settings.databaseUrl ?? postgres?.url ?? '';
  const database = openDatabase(url, options);
  const waiting = async (cause: string) => crew.report({ kind: 'waiting', cause });
  try {
    const file = await untilDatabaseReady(
      () => prepareDatabase(options, database, { url, waiting, signal }),
      { log: options.log, signal, onWaiting: waiting },
    );
    crew.report({ kind: 'prepared', url, postgres: identityOf(postgres) });
    return file;
  } finally {
    await database
      .close()
      .catch((error: unknown) => options.log.error({ err: error }, 'closing connections'));
  }
}

/** Any free port is chosen once: workers that are started later have to serve on the same. */
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
