import { chownSync, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { dedicatedAccount } from './dedicated-account.ts';

/** The user that PostgreSQL runs as; undefined for the user that runs Ingot. */
export type Account = { readonly uid: number; readonly gid: number } | undefined;

const ROOT = 0;

/** Shared by every service that has no account of its own: each of them could read and change what belongs to it. */
const NOBODY = 65534;

/**
 * PostgreSQL refuses to run as root. Started by root, it runs as the owner of the existing cluster, so that an ordinary user's
 * data directory keeps working after a `sudo`; else as the owner of the data directory; else as an account of its own.
 */
export async function chooseAccount(cluster: string, log: (line: string) => void): Promise<Account> {
  if (process.getuid?.() !== ROOT) return undefined;
  for (const path of [cluster, dirname(cluster)]) {
    if (!existsSync(path)) continue;
    const { uid, gid } = statSync(path);
    if (uid === ROOT && path === cluster)
      throw new Error(`${cluster} belongs to root, and PostgreSQL refuses to run as root`);
    if (uid !== ROOT && uid !== NOBODY) return { uid, gid };
  }
  return dedicatedAccount(log);
}

/** The account of what an earlier Ingot may have left running in the cluster. */
export function ownerOf(cluster: string): Account {
  if (process.getuid?.() !== ROOT || !existsSync(cluster)) return undefined;
  const { uid, gid } = statSync(cluster);
  return { uid, gid };
}

export function giveTo(account: Account, path: string): void {
  if (account) chownSync(path, account.uid, account.gid);
}

/** Whether the account may pass through every directory down to this one. */
export function canReach(account: Account, directory: string): boolean {
  if (!account) return true;
  const { uid, gid, mode } = statSync(directory);
  const search = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
  if ((mode & search) === 0) return false;
  const parent = dirname(directory);
  return parent === directory || canReach(account, parent);
}
