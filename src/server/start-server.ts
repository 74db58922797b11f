/** The server in one process: it prepares the database, serves a replica on it, and stops both in the reverse order. */

import { openDatabase, prepareDatabase, servingUrl, startEmbedded } from './prepare-database.ts';
import type { Ports } from './replica/start-surfaces.ts';
import { type ServeOptions, serveReplica } from './serve-replica.ts';
import type { PlanFile } from './settings/plan-files.ts';

export interface ServerOptions extends Omit<ServeOptions, 'prepare'> {
  readonly planFiles?: readonly PlanFile[];
  /** For tests: how many connections to the database it works with at most. */
  readonly maxConnections?: number;
}

export interface Server extends Ports {
  readonly adminTokenFile: string;
  readonly embedded: boolean;
  stop(): Promise<void>;
}

/** Returns when it serves. Until then it waits for its database, without a limit. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { settings } = options;
  const postgres = settings.databaseUrl === null ? await startEmbedded(options) : null;
  const url = settings.databaseUrl ?? postgres?.url ?? '';
  const database = openDatabase(servingUrl(options, url), options);
  const stopDatabase = async () => {
    await database.close().catch((error: unknown) => options.log.error({ err: error }, 'stopping'));
    await postgres?.stop();
  };
  let adminTokenFile = '';
  try {
    const replica = await serveReplica({
      ...options,
      prepare: async (waiting, signal) => {
        adminTokenFile = await prepareDatabase(options, database, { url, waiting, signal });
        return database;
      },
    });
    let stopped: Promise<void> | null = null;
    const stop = () => {
      stopped ??= replica.stop().then(stopDatabase);
      return stopped;
    };
    return { ...replica, adminTokenFile, embedded: postgres !== null, stop };
  } catch (error) {
    await stopDatabase();
    throw error;
  }
}
