import { chownSync, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The user that PostgreSQL runs as; undefined for the user that runs Ingot. */
export type Account = { readonly uid: number; readonly gid: number } | undefined;

const unprivileged = { uid: 65534, gid: 65534 };

/**
 * PostgreSQL refuses to run as root. Started by root, it runs as the owner of the existing cluster, so that an ordinary user's
 * data directory keeps working after a `sudo`; a new cluster belongs to the user `nobody`.
 */
export function chooseAccount(cluster: string): Account {
  if (process.getuid?.() !== 0) return undefined;
  if (!existsSync(cluster)) return unprivileged;
  const { uid, gid } = statSync(cluster);
  if (uid === 0) throw new Error(`${cluster} belongs to root, and PostgreSQL refuses to run as root`);
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
