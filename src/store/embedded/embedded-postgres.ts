/*
 * Ingot's own PostgreSQL, for installations without one.
 *
 * The data directory holds a lock and the cluster. A start takes the lock, stops what a killed Ingot left running, creates
 * the cluster if there is none, makes sure of who may connect (`ensure-access.ts`), starts PostgreSQL and waits until it answers a query. PostgreSQL's exit, requested or
 * not, removes the socket's directory and releases the lock. Killing Ingot at any time is safe: the next start cleans up.
 */

import type { ChildProcess } from 'node:child_process';
import { mkdirSync, realpathSync } from 'node:fs';
import { Client } from 'pg';
import { sleep } from '../../time/sleep.ts';
import { ensurePassword } from './access.ts';
import { chooseAccount, ownerOf } from './account.ts';
import { adoptCluster } from './adopt-cluster.ts';
import { type Binaries, findBinaries } from './binaries.ts';
import { clusterIn, ensureCluster } from './cluster.ts';
import { type DataDirLock, lockDataDir } from './data-dir-lock.ts';
import { ensureAccess } from './ensure-access.ts';
import { stopOrphan } from './orphan.ts';
import { dataArgument, type Exit, spawnProgram, tailOf, untilExit } from './program.ts';
import type { RoleSettings } from './roles.ts';
import { makeAgain, makeSocketDir, removeSocketDir, socketUrl } from './socket-dir.ts';

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** PostgreSQL settings that override the defaults below. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The socket directory of an earlier process, so that the URL stays the same. */
  readonly socketDir?: string;
  /** For tests: another PostgreSQL than the one that comes with Ingot. */
  readonly binaries?: Binaries;
  /** For tests: fast, a power cut loses everything, and the password is no obstacle to one who reads the files. */
  readonly ephemeral?: boolean;
  /** For tests and measurements: Ingot's role may create and clone databases. */
  readonly databases?: RoleSettings['databases'];
  /** Receives what an operator should know of the start, such as a new account of the system. */
  readonly notice?: (line: string) => void;
  /** Receives PostgreSQL's log, line by line. */
  readonly log?: (line: string) => void;
}

export interface EmbeddedPostgres {
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  /** Ends open connections, shuts down cleanly and returns when PostgreSQL has exited. May be repeated. */
  stop(): Promise<void>;
  /** Called once if PostgreSQL exits by itself; at once if it already has. */
  onExit(listener: (exit: Exit) => void): void;
}

const defaults = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_connections: '200',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '8MB',
  maintenance_work_mem: '64MB',
  random_page_cost: '1.1',
  // Many small statements on few cores: a parallel query would only slow the others down.
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  // Queue and presence rows are rewritten all the time; the default thresholds let them bloat for too long.
  autovacuum_naptime: '15s',
  autovacuum_vacuum_scale_factor: '0.05',
  log_checkpoints: 'off',
} as const;

const ephemeral = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } as const;

/** Recovery after a crash replays at most a few gigabytes, which takes less than this. */
const maxStartMs = 300_000;
const fastShutdownMs = 60_000;

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = realpathSync(options.dataDir);
  const lock = await lockDataDir(dataDir);
  try {
    return await startLocked(dataDir, lock, options);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function startLocked(
  dataDir: string,
  lock: DataDirLock,
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => {});
  const durability = options.ephemeral ? 'ephemeral' : 'durable';
  const cluster = clusterIn(dataDir);
  await stopOrphan(cluster, ownerOf(cluster), log);
  const account = await chooseAccount(cluster, options.notice ?? log);
  const binaries = options.binaries ?? (await findBinaries(account));
  adoptCluster(cluster, account);
  await ensureCluster({ cluster, binaries, account, durability, log });
  const password = ensurePassword(dataDir);
  const databases = options.databases ?? 'its own';
  await ensureAccess({ cluster, binaries, account, password, databases, durability, log });

  const socketDir = options.socketDir ?? makeSocketDir(account);
  if (options.socketDir !== undefined) makeAgain(account, options.socketDir);
  const tail = tailOf(log);
  const settings = { ...defaults, ...(options.ephemeral ? ephemeral : {}), ...options.settings };
  const args = ['-D', dataArgument(cluster), '-k', socketDir, ...settingArguments(settings)];
  const child = spawnProgram({ file: binaries.postgres, args, cluster, account, onLine: tail.onLine });
  const server = new RunningServer(child, socketDir, lock);
  const url = socketUrl(socketDir, password);
  if (!(await answers(url, server))) {
    await server.stop();
    throw new Error(`PostgreSQL did not start: ${tail.reason()}`);
  }
  return {
    url,
    pid: server.pid,
    dataDir,
    stop: () => server.stop(),
    onExit: (listener) => server.onExit(listener),
  };
}

function settingArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Waits for the first answered query; false if the server exits before it, or takes too long. */
async function answers(url: string, server: RunningServer): Promise<boolean> {
  const deadline = performance.now() + maxStartMs;
  while (!server.hasExited && performance.now() < deadline) {
    const client = new Client({ connectionString: url, ssl: false });
    try {
      await client.connect();
      await client.query('SELECT 1');
      return true;
    } catch {
      await sleep(20);
    } finally {
      await client.end().catch(() => {});
    }
  }
  return false;
}

class RunningServer {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #over: Promise<void>;
  #exit: Exit | undefined;
  #stopping = false;
  #listeners: ((exit: Exit) => void)[] = [];

  constructor(child: ChildProcess, socketDir: string, lock: DataDirLock) {
    this.#child = child;
    this.pid = child.pid ?? 0;
    // An Ingot that exits without stopping it first must not leave it running. The lock stays: the shutdown
    // continues after our exit, and the next holder of the lock waits for its end.
    const exitWithUs = () => {
      child.kill('SIGINT');
      removeSocketDir(socketDir);
    };
    process.once('exit', exitWithUs);
    this.#over = untilExit(child)
      .catch((): Exit => ({ code: null, signal: null }))
      .then((exit) => {
        this.#exit = exit;
        process.off('exit', exitWithUs);
        removeSocketDir(socketDir);
        lock.release();
        if (!this.#stopping) for (const listener of this.#listeners) listener(exit);
      });
  }

  get hasExited(): boolean {
    return this.#exit !== undefined;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#child.kill('SIGINT');
    const quitTimer = setTimeout(() => this.#child.kill('SIGQUIT'), fastShutdownMs);
    await this.#over;
    clearTimeout(quitTimer);
  }

  onExit(listener: (exit: Exit) => void): void {
    if (this.#exit === undefined) this.#listeners.push(listener);
    else if (!this.#stopping) queueMicrotask(() => this.#exit && listener(this.#exit));
  }
}
