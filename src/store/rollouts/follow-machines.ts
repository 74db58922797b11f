/** Machines that come to match the filter of a rollout that follows it: they join its last wave, each once. */
import type { Scope } from '../../domain/access/scope.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from '../database/rows.ts';
import { appendEvents } from '../events/append-events.ts';
import { machineCondition } from '../machines/machine-condition.ts';
import { insertMachines, type NewRolloutMachine } from './insert-rollout.ts';
import { ROLLOUTS, rolloutEvent } from './rollout-event.ts';

export interface NewMatches {
  readonly rolloutId: string;
  readonly filter: CheckedFilter<Machine> | null;
  readonly scope: Scope | null;
  /** The machine that the page before ended with; empty: from the start. */
  readonly after: string;
  readonly limit: number;
}

export async function newMatches(
  session: Session,
  { rolloutId, filter, scope, after, limit }: NewMatches,
): Promise<Machine[]> {
  const { text, values } = machineCondition({ filter, scope }, 4);
  const rows = await session.run<MachineRow>(
    '',
    `SELECT ${MACHINE_COLUMNS} FROM machines WHERE machine_id > $2 AND ${text} AND NOT EXISTS (
       SELECT FROM rollout_machines r WHERE r.rollout_id = $1 AND r.machine_id = machines.machine_id)
     ORDER BY machine_id LIMIT $3`,
    [rolloutId, after, limit, ...values],
  );
  return rows.map(machineOf);
}

export interface LastWave {
  readonly number: number;
  /** Empty: no rule of the configuration asks for its gate. */
  readonly approvalRule: string;
}

export async function lastWaveOf(session: Session, rolloutId: string): Promise<LastWave> {
  const [row] = await session.run<{ number: number; approval_rule: string }>(
    'last-wave-of-rollout',
    'SELECT number, approval_rule FROM rollout_waves WHERE rollout_id = $1 ORDER BY number DESC LIMIT 1',
    [rolloutId],
  );
  return { number: row?.number ?? 0, approvalRule: row?.approval_rule ?? '' };
}

/** Only while the owner holds the rollout. Returns how many are new. */
export async function addMachines(
  session: Session,
  { rolloutId, owner }: { readonly rolloutId: string; readonly owner: string },
  machines: readonly NewRolloutMachine[],
): Promise<number> {
  const [row] = await session.run<{ revision: number; last: number }>(
    'lock-rollout-to-follow',
    `SELECT revision, (SELECT max(position) FROM rollout_machines m WHERE m.rollout_id = r.rollout_id) AS last
     FROM rollouts r WHERE rollout_id = $1 AND owner = $2 AND finished_at IS NULL FOR NO KEY UPDATE`,
    [rolloutId, owner],
  );
  if (!row) return 0;
  const added = await insertMachines(session, rolloutId, machines, row.last ?? 0);
  if (added === 0) return 0;
  await session.run(
    'count-followed-machines',
    `WITH counted AS (
       UPDATE rollout_waves SET pending = pending + $2,
         state = CASE WHEN state IN ('soaking', 'done') THEN 'running' ELSE state END
       WHERE rollout_id = $1 AND number = $3),
     marked AS (
       UPDATE rollout_machines SET revision = $4 WHERE rollout_id = $1 AND machine_id = ANY($5))
     UPDATE rollouts SET revision = revision + 1 WHERE rollout_id = $1`,
    [rolloutId, added, machines[0]?.wave ?? 0, row.revision + 1, machines.map(({ machineId }) => machineId)],
  );
  const metadata = { action: 'follow', machines: machines.map(({ machineId }) => machineId).slice(0, 100) };
  await appendEvents(
    session,
    [
      rolloutEvent({
        rolloutId,
        from: '',
        to: 'added',
        actor: ROLLOUTS,
        comment: `${added} machines came to match`,
        metadata,
      }),
    ],
    ['rollouts'],
  );
  return added;
}
