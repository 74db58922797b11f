/**
 * A PostgreSQL whose clock can be stepped while it runs: libfaketime adds to every reading what a file says. Only the
 * clock of the day is changed; sleeps and timeouts inside PostgreSQL go by the monotonic clock, as on a real host.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ensurePassword } from '../../src/store/embedded/access.ts';
import { chooseAccount, giveTo } from '../../src/store/embedded/account.ts';
import { findBinaries } from '../../src/store/embedded/binaries.ts';
import { clusterIn, ensureCluster } from '../../src/store/embedded/cluster.ts';
import { ensureAccess } from '../../src/store/embedded/ensure-access.ts';
import { makeSocketDir, removeSocketDir, socketUrl } from '../../src/store/embedded/socket-dir.ts';
import { findFile, REQUIREMENTS } from './debian-packages.ts';

export interface SteppedPostgres {
  readonly url: string;
  readonly pid: number;
  /** From now on the clock is wrong by so many seconds. */
  setOffset(seconds: number): void;
  stop(): Promise<void>;
}

export async function startSteppedPostgres(): Promise<SteppedPostgres> {
  const library = findFile(REQUIREMENTS.faketime.files[0]);
  if (library === undefined) throw new Error('libfaketime is missing');
  const dataDir = mkdtempSync(join(tmpdir(), 'ingot-stepped-'));
  const cluster = clusterIn(dataDir);
  const account = await chooseAccount(cluster, () => {});
  const binaries = await findBinaries(account);
  giveTo(account, dataDir);
  await ensureCluster({ cluster, binaries, account, durability: 'ephemeral', log: () => {} });
  const password = ensurePassword(dataDir);
  await ensureAccess({
    cluster,
    binaries,
    account,
    password,
    databases: 'any',
    durability: 'ephemeral',
    log: () => {},
  });
  const offsetFile = join(dataDir, 'offset');
  const setOffset = (seconds: number) => {
    // Renamed into place: a reader never finds half a number.
    writeFileSync(`${offsetFile}.new`, `${seconds >= 0 ? '+' : ''}${seconds}\n`, { mode: 0o644 });
    renameSync(`${offsetFile}.new`, offsetFile);
  };
  setOffset(0);
  const socketDir = makeSocketDir(account);
  const settings = ['fsync=off', 'full_page_writes=off', 'listen_addresses=', 'shared_buffers=64MB'];
  const args = ['-D', cluster, '-k', socketDir, ...settings.flatMap((setting) => ['-c', setting])];
  const child = spawn(binaries.postgres, args, {
    ...account,
    cwd: cluster,
    env: {
      LC_ALL: 'C',
      TZ: 'UTC',
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: offsetFile,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const endWithUs = () => child.kill('SIGQUIT');
  process.once('exit', endWithUs);
  const stop = async () => {
    child.kill('SIGINT');
    await exited;
    process.off('exit', endWithUs);
    removeSocketDir(socketDir);
    rmSync(dataDir, { recursive: true, force: true });
  };
  const url = socketUrl(socketDir, password);
  await answers(url).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { url, pid: child.pid ?? 0, setOffset, stop };
}

async function answers(url: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return;
    } catch (error) {
      if (attempt === 200) throw error;
      await sleep(50);
    } finally {
      await client.end().catch(() => {});
    }
  }
}
