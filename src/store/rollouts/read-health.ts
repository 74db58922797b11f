/** What the stop rules of a rollout check: machines that are done, and the pools of its machines. */
import type { AgentAddress } from '../../domain/agent/agent.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_FILTER_COLUMNS } from '../filter/machine-columns.ts';
import { filterToSql } from '../filter/to-sql.ts';
import { SCHEDULABLE_COLUMN } from '../machines/schedulable-column.ts';

/** The newest are looked at first, and no more than these. */
const MOST = 5_000;

/** Machines that are done, of waves that are observed. */
const DONE = `
  SELECT d.machine_id FROM rollout_machines d JOIN rollout_waves w ON w.rollout_id = d.rollout_id AND w.number = d.wave
  WHERE d.rollout_id = $1 AND d.state = 'succeeded' AND w.state IN ('running', 'soaking')
  ORDER BY d.finished_at DESC LIMIT ${MOST}`;

export async function doneMachinesMatching(
  session: Session,
  rolloutId: string,
  filter: CheckedFilter<Machine>,
): Promise<string[]> {
  const { text, values } = filterToSql(filter, MACHINE_FILTER_COLUMNS, 2);
  const rows = await session.run<{ machine_id: string }>(
    '',
    `SELECT machine_id FROM machines WHERE machine_id IN (${DONE}) AND (${text}) ORDER BY machine_id LIMIT 100`,
    [rolloutId, ...values],
  );
  return rows.map(({ machine_id }) => machine_id);
}

/** Where the agents of machines that are done report to. */
export async function agentsOfDoneMachines(session: Session, rolloutId: string): Promise<AgentAddress[]> {
  const rows = await session.run<{ machine_id: string; pool: string; provider: string }>(
    'agents-of-done-machines',
    `SELECT machine_id, pool, provider FROM agent_presence WHERE machine_id IN (${DONE})`,
    [rolloutId],
  );
  return rows.map((row) => ({
    machineId: row.machine_id,
    poolName: row.pool,
    providerName: row.provider,
  }));
}

/** Pools of the rollout's machines that have agents and no schedulable machine. */
export async function degradedPools(session: Session, rolloutId: string): Promise<string[]> {
  const rows = await session.run<{ pool: string }>(
    'degraded-pools-of-rollout',
    `SELECT pool FROM machines WHERE presence IS NOT NULL AND service IS DISTINCT FROM 'deleted' AND pool IN (
       SELECT m.pool FROM rollout_machines r JOIN machines m USING (machine_id) WHERE r.rollout_id = $1 AND m.pool IS NOT NULL)
     GROUP BY pool HAVING NOT bool_or(${SCHEDULABLE_COLUMN}) ORDER BY pool`,
    [rolloutId],
  );
  return rows.map(({ pool }) => pool);
}
