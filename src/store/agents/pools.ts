/** Worker pools: names that agents may enrol under. */
import type { Acting } from '../../domain/access/caller.ts';
import type { Scope } from '../../domain/access/scope.ts';
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { POOL_RULE } from '../../domain/agent/agent.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Database, Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import { changeEvent, recordChange } from '../events/record-change.ts';
import { preparedAs, scopeCondition } from '../filter/scope-condition.ts';
import type { SqlCondition } from '../filter/to-sql.ts';
import { notAvailable, termsOf } from '../owned-records.ts';

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

export async function createPool(database: Database, name: string, { actor, scope }: Acting): Promise<Pool> {
  return database.transaction(async (session) => {
    const [row] = await session.run<PoolRow & Record<string, unknown>>(
      'create-pool',
      `INSERT INTO pools (pool_name, created_by, scope_terms) VALUES ($1, $2, $3)
       ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
      [name, actorLabel(actor), termsOf(scope)],
    );
    if (!row && scope !== null && !(await poolExists(session, name, scope)))
      throw notAvailable(`pool ${name}`, scope);
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

/** A caller with a scope sees the pools that have a machine of its scope, and those that were created in its scope. */
function visiblePools(scope: Scope | null, firstParameter: number): SqlCondition {
  if (scope === null) return { text: 'TRUE', values: [] };
  const machines = scopeCondition(scope, firstParameter + 1);
  const used = `pool_name IN (SELECT pool FROM machines WHERE ${machines.text})`;
  const own = `(scope_terms <> '{}' AND scope_terms <@ $${firstParameter}::text[])`;
  return { text: `(${own} OR ${used})`, values: [scope.terms, ...machines.values] };
}

export async function listPools(session: Session, scope: Scope | null): Promise<Pool[]> {
  const { text, values } = visiblePools(scope, 1);
  const rows = await session.run<PoolRow & Record<string, unknown>>(
    preparedAs('list-pools', scope),
    `SELECT ${COLUMNS} FROM pools WHERE ${text} ORDER BY pool_name`,
    [...values],
  );
  return rows.map(poolOf);
}

export async function poolExists(session: Session, name: string, scope: Scope | null): Promise<boolean> {
  // The database refuses some strings that are not names, such as NUL.
  if (!POOL_RULE.test(name)) return false;
  const { text, values } = visiblePools(scope, 2);
  const rows = await session.run(
    preparedAs('pool-exists', scope),
    `SELECT 1 AS found FROM pools WHERE pool_name = $1 AND ${text}`,
    [name, ...values],
  );
  return rows.length > 0;
}
