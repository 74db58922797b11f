import { existsSync, lchownSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from './account.ts';

/**
 * Earlier versions gave the cluster to nobody. Call when nothing runs in it. The directory itself comes last, so that a start
 * after an interruption finds its old owner and continues. What belongs to a third user stays as it is: it may be a link to
 * a file that is not PostgreSQL's.
 */
export function adoptCluster(cluster: string, account: Account): void {
  if (!account || !existsSync(cluster)) return;
  const { uid } = lstatSync(cluster);
  if (uid === account.uid) return;
  const entries = readdirSync(cluster, { recursive: true, encoding: 'utf8' });
  for (const path of [...entries.map((name) => join(cluster, name)), cluster]) {
    if (lstatSync(path).uid === uid) lchownSync(path, account.uid, account.gid);
  }
}
