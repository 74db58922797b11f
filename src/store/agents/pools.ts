/** Worker pools: names that agents may enrol under. */
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { POOL_RULE } from '../../domain/agent/agent.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Database, Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import { changeEvent, recordChange } from '../events/record-change.ts';

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

/** The configuration file. */
const CONFIGURATION = { kind: 'system', id: 'configuration' } as const satisfies Actor;

const COLUMNS = 'pool_name, created_by, created_at';

function poolOf(row: PoolRow): Pool {
  return { name: row.pool_name, createdBy: row.created_by, createdAt: row.created_at };
}

export async function createPool(database: Database, name: string, actor: Actor): Promise<Pool> {
  return database.transaction(async (session) => {
    const [row] = await session.run<PoolRow & Record<string, unknown>>(
      'create-pool',
      `INSERT INTO pools (pool_name, created_by) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
      [name, actorLabel(actor)],
    );
    if (!row) {
      throw new Fault('POOL_EXISTS', {
        message: `there is a pool named ${name} already`,
        metadata: { pool: name },
      });
    }
    await recordChange(session, { kind: 'pool', subject: name, to: 'created', actor });
    return poolOf(row);
  });
}

export function poolNotFound(name: string): Fault {
  return new Fault('POOL_NOT_FOUND', {
    message: `there is no pool ${JSON.stringify(name.slice(0, 80))}`,
    metadata: { pool: name.slice(0, 80) },
  });
}

/** Creates the pools of the configuration; existing ones stay as they are. */
export async function ensurePools(database: Database, names: readonly string[]): Promise<void> {
  await database.transaction(async (session) => {
    const created = await session.run<{ pool_name: string }>(
      'ensure-pools',
      `INSERT INTO pools (pool_name, created_by)
       SELECT name, $2 FROM unnest($1::text[]) AS name ON CONFLICT DO NOTHING RETURNING pool_name`,
      [names, actorLabel(CONFIGURATION)],
    );
    const change = { kind: 'pool', to: 'created', actor: CONFIGURATION } as const;
    await appendEvents(
      session,
      created.map((row) => changeEvent({ ...change, subject: row.pool_name })),
    );
  });
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
