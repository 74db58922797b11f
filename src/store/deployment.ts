/** What distinguishes this deployment from others on the same host; all its replicas read the same. */
import type { Database } from './database/database.ts';

export async function readDeploymentSuffix(database: Database): Promise<string> {
  const [row] = await database.run<{ suffix: string }>('read-deployment', 'SELECT suffix FROM deployment');
  if (!row) throw new Error('the table deployment has no row');
  return row.suffix;
}
