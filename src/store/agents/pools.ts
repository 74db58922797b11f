/** Worker pools: names that agents may enrol under. */
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { POOL_RULE } from '../../domain/agent/agent.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Session } from '../database/database.ts';

export interface Pool {
  readonly name: string;
  readonly createdBy: string;
  readonly createdAt: Date;
}

interface PoolRow {
  pool_name: string;
  created_by: string;
  created_at: Date;
}

const COLUMNS = 'pool_name, created_by, created_at';

function poolOf(row: PoolRow): Pool {
  return { name: row.pool_name, createdBy: row.created_by, createdAt: row.created_at };
}

export async function createPool(session: Session, name: string, actor: Actor): Promise<Pool> {
  const [row] = await session.run<PoolRow & Record<string, unknown>>(
    'create-pool',
    `INSERT INTO pools (pool_name, created_by) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
    [name, actorLabel(actor)],
  );
  if (row) return poolOf(row);
  throw new Fault('POOL_EXISTS', {
    message: `there is a pool named ${name} already`,
    metadata: { pool: name },
  });
}

export function poolNotFound(name: string): Fault {
  return new Fault('POOL_NOT_FOUND', {
    message: `there is no pool ${JSON.stringify(name.slice(0, 80))}`,
    metadata: { pool: name.slice(0, 80) },
  });
}

/** Creates the pools of the configuration; existing ones stay as they are. */
export async function ensurePools(session: Session, names: readonly string[]): Promise<void> {
  await session.run(
    'ensure-pools',
    `INSERT INTO pools (pool_name, created_by)
     SELECT name, 'system:configuration' FROM unnest($1::text[]) AS name ON CONFLICT DO NOTHING`,
    [names],
  );
}

export async function listPools(session: Session): Promise<Pool[]> {
  const rows = await session.run<PoolRow & Record<string, unknown>>(
    'list-pools',
    `SELECT ${COLUMNS} FROM pools ORDER BY pool_name`,
  );
  return rows.map(poolOf);
}

export async function poolExists(session: Session, name: string): Promise<boolean> {
  // The database refuses some strings that are not names, such as NUL.
  if (!POOL_RULE.test(name)) return false;
  const rows = await session.run('pool-exists', 'SELECT 1 AS found FROM pools WHERE pool_name = $1', [name]);
  return rows.length > 0;
}
