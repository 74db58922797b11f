/**
 * The server as several processes: this one, the primary, owns the embedded PostgreSQL and prepares the database, and its
 * workers serve. It listens for all of them and deals connections out in turn, so both ports are one server to a client.
 */
import { checkAddress } from './check-address.ts';
import { openDatabase, prepareDatabase, startEmbedded } from './prepare-database.ts';
import type { Server, ServerOptions } from './server.ts';
import { type Address, SETTINGS, type Settings } from './settings.ts';
import type { EmbeddedPostgres } from './store/embedded/embedded-postgres.ts';
import { processStart } from './store/embedded/process-identity.ts';
import { untilDatabaseReady } from './until-database-ready.ts';
import { WorkerCrew } from './worker-crew.ts';

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
  let postgres: EmbeddedPostgres | null = null;
  const stop = async () => {
    await crew.stop();
    await postgres?.stop();
  };
  try {
    // Before the database: they load their code while it starts, and answer /healthz while it is waited for.
    crew.start();
    postgres = settings.databaseUrl === null ? await startEmbedded(options, options.onFatal) : null;
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

async function prepare(
  options: SupervisedOptions,
  crew: WorkerCrew,
  postgres: EmbeddedPostgres | null,
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
    const identity = postgres && { pid: postgres.pid, start: processStart(postgres.pid) };
    crew.report({ kind: 'prepared', url, postgres: identity });
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
