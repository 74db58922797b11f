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

/** The data directory's part that is PostgreSQL's; everything in it belongs to PostgreSQL's account. */
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
 * Makes the cluster unless it is there. It is made beside its place and moved there when it is complete, so
 * that a kill at any moment leaves either no cluster or a whole one.
 */
export async function ensureCluster(wanted: NewCluster): Promise<void> {
  removeDrafts(wanted.cluster);
  if (existsSync(join(wanted.cluster, 'PG_VERSION'))) return;
  const draft = mkdtempSync(draftPrefix(wanted.cluster));
  try {
    giveTo(wanted.account, draft);
    await initdb(draft, wanted);
    renameSync(draft, wanted.cluster);
    if (wanted.durability === 'durable') syncDirectory(dirname(wanted.cluster));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function initdb(draft: string, { binaries, account, durability, log }: NewCluster): Promise<void> {
  const tail = tailOf(log);
  const args = ['-D', dataArgument(draft), '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'];
  if (durability === 'ephemeral') args.push('--no-sync');
  const child = spawnProgram({ file: binaries.initdb, args, cluster: draft, account, onLine: tail.onLine });
  const { code } = await untilExit(child);
  if (code !== 0) throw new Error(`PostgreSQL's data could not be initialised: ${tail.reason()}`);
}

function draftPrefix(cluster: string): string {
  return `${cluster}.new-`;
}

function removeDrafts(cluster: string): void {
  const prefix = basename(draftPrefix(cluster));
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
