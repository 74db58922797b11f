import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Account, giveTo } from './account.ts';
import type { Binaries } from './binaries.ts';
import { dataArgument, spawnProgram, tailOf, untilExit } from './program.ts';

/** PostgreSQL's part of the data directory; everything in it belongs to PostgreSQL's account. */
export function clusterIn(dataDir: string): string {
  return join(dataDir, 'postgresql');
}

export interface NewCluster {
  readonly cluster: string;
  readonly binaries: Binaries;
  readonly account: Account;
  readonly durability: 'durable' | 'ephemeral';
  readonly log: (line: string) => void;
}

/**
 * Creates the cluster unless it exists. It is created under another name and renamed when it is complete, so that a kill at
 * any time leaves either no cluster or a complete one.
 */
export async function ensureCluster(wanted: NewCluster): Promise<void> {
  removeIncomplete(wanted.cluster);
  if (existsSync(join(wanted.cluster, 'PG_VERSION'))) return;
  const temporary = mkdtempSync(temporaryPrefix(wanted.cluster));
  try {
    giveTo(wanted.account, temporary);
    await initdb(temporary, wanted);
    renameSync(temporary, wanted.cluster);
    if (wanted.durability === 'durable') syncDirectory(dirname(wanted.cluster));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

async function initdb(temporary: string, { binaries, account, durability, log }: NewCluster): Promise<void> {
  const tail = tailOf(log);
  const args = [
    '-D',
    dataArgument(temporary),
    '-U',
    'postgres',
    // Until `ensureAccess` says otherwise.
    '--auth=reject',
    '--encoding=UTF8',
    '--locale=C',
  ];
  if (durability === 'ephemeral') args.push('--no-sync');
  const child = spawnProgram({
    file: binaries.initdb,
    args,
    cluster: temporary,
    account,
    onLine: tail.onLine,
  });
  const { code } = await untilExit(child);
  if (code !== 0) throw new Error(`PostgreSQL's data could not be initialised: ${tail.reason()}`);
}

function temporaryPrefix(cluster: string): string {
  return `${cluster}.new-`;
}

function removeIncomplete(cluster: string): void {
  const prefix = basename(temporaryPrefix(cluster));
  for (const name of readdirSync(dirname(cluster))) {
    if (name.startsWith(prefix)) rmSync(join(dirname(cluster), name), { recursive: true, force: true });
  }
}

function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
