/** Rollouts that have not ended: how many there are, and the one that a machine is part of. */
import type { Scope } from '../../domain/access/scope.ts';
import type { MachineInRollout } from '../../domain/explanation/explain-rollout.ts';
import type { RolloutMachineState, RolloutState } from '../../domain/rollout/rollout.ts';
import type { Session } from '../database/database.ts';
import { preparedAs, readableIn } from '../filter/scope-condition.ts';
import type { SqlCondition } from '../filter/to-sql.ts';

/** A rollout of the whole fleet names machines of other scopes. */
export function rolloutsVisibleTo(scope: Scope | null, parameter: number): SqlCondition {
  const { text, values } = readableIn(scope, parameter);
  return scope === null ? { text, values } : { text: `(${text} AND scope_terms <> '{}')`, values };
}

/** By state, in upper case. */
export async function countOpenRollouts(
  session: Session,
  scope: Scope | null,
): Promise<Readonly<Record<string, number>>> {
  const { text, values } = rolloutsVisibleTo(scope, 1);
  const rows = await session.run<{ name: string; rollouts: number }>(
    preparedAs('count-open-rollouts', scope),
    `SELECT upper(state) AS name, count(*)::integer AS rollouts FROM rollouts
     WHERE finished_at IS NULL AND ${text} GROUP BY 1 ORDER BY 1`,
    [...values],
  );
  return Object.fromEntries(rows.map(({ name, rollouts }) => [name, rollouts]));
}

interface GlanceRow extends Record<string, unknown> {
  rollout_id: string;
  name: string;
  state: RolloutState;
  waiting_for: string;
  wave: number;
  machine_state: RolloutMachineState;
  message: string;
}

/** The newest one that has not ended and has not ended with the machine; null: there is none that the caller may read. */
export async function openRolloutOf(
  session: Session,
  machineId: string,
  scope: Scope | null,
): Promise<MachineInRollout | null> {
  const { text, values } = rolloutsVisibleTo(scope, 2);
  const [row] = await session.run<GlanceRow>(
    preparedAs('open-rollout-of-machine', scope),
    `SELECT r.rollout_id, r.name, r.state, r.waiting_for, m.wave, m.state AS machine_state, m.message
     FROM rollout_machines m JOIN (SELECT * FROM rollouts WHERE finished_at IS NULL AND ${text}) AS r USING (rollout_id)
     WHERE m.machine_id = $1 AND m.state IN ('pending', 'running', 'failed') ORDER BY r.rollout_id DESC LIMIT 1`,
    [machineId, ...values],
  );
  if (!row) return null;
  return {
    rolloutId: row.rollout_id,
    name: row.name,
    state: row.state,
    waitingFor: row.waiting_for,
    wave: row.wave,
    machineState: row.machine_state,
    message: row.message,
  };
}
