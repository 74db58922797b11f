/**
 * The part of a rollout in the transaction that starts operations: the fence before the decision, and the record after it.
 * An operation of a rollout and the machine's place in the rollout are written together, so that there is no moment at which one
 * is known and the other is not. The row of the rollout is locked before any machine, and everyone who changes a machine of a
 * rollout locks that row first.
 */
import type { Session } from '../database/database.ts';

export interface RolloutStart {
  readonly rolloutId: string;
  /** Of the decision to start. */
  readonly epoch: number;
  readonly step: number;
  readonly attempt: number;
  /** The machine's state before. */
  readonly from: 'pending' | 'running';
}

/** The rollout has changed since the decision: nothing was started. */
export class StartFenced extends Error {
  constructor(machineId: string) {
    super(`the rollout has changed since the start of ${machineId} was decided`);
    this.name = 'StartFenced';
  }
}

const ADMIT = `
  SELECT r.rollout_id, m.machine_id
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::integer[], $5::integer[], $6::text[])
    AS i(rollout, machine, epoch, step, attempt, state)
  JOIN rollouts r ON r.rollout_id = i.rollout AND r.epoch = i.epoch AND r.state = 'running'
  JOIN rollout_machines m ON m.rollout_id = i.rollout AND m.machine_id = i.machine AND m.state = i.state
    AND m.step = i.step AND m.attempt = i.attempt AND m.operation_id IS NULL
  FOR NO KEY UPDATE OF r`;

interface Asked {
  readonly machineId: string;
  readonly rollout?: RolloutStart | null;
}

/** Which of the starts still hold; locks their rollouts until the transaction ends. What is part of no rollout holds. */
export async function admitStarts(
  session: Session,
  requests: readonly Asked[],
): Promise<(request: Asked) => boolean> {
  const asked = requests.flatMap(({ machineId, rollout }) => (rollout ? [{ machineId, ...rollout }] : []));
  if (asked.length === 0) return () => true;
  const rows = await session.run<{ rollout_id: string; machine_id: string }>('admit-rollout-starts', ADMIT, [
    asked.map(({ rolloutId }) => rolloutId),
    asked.map(({ machineId }) => machineId),
    asked.map(({ epoch }) => epoch),
    asked.map(({ step }) => step),
    asked.map(({ attempt }) => attempt),
    asked.map(({ from }) => from),
  ]);
  const admitted = new Set(rows.map((row) => `${row.rollout_id} ${row.machine_id}`));
  return ({ machineId, rollout }) => !rollout || admitted.has(`${rollout.rolloutId} ${machineId}`);
}

const RECORD = `
  WITH started AS (
    UPDATE rollout_machines m SET state = 'running', operation_id = i.operation, message = '', error_code = '',
      operation_ids = CASE WHEN i.operation = ANY(m.operation_ids) THEN m.operation_ids
        ELSE array_append(m.operation_ids, i.operation) END,
      not_before = NULL, step_since = now(), matches_since = NULL, started_at = coalesce(m.started_at, now()),
      finished_at = NULL, revision = r.revision + 1
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS i(rollout, machine, operation, state)
    JOIN rollouts r ON r.rollout_id = i.rollout
    WHERE m.rollout_id = i.rollout AND m.machine_id = i.machine
    RETURNING m.rollout_id, m.wave, i.state),
  counted AS (
    UPDATE rollout_waves w SET pending = w.pending - s.fresh, running = w.running + s.fresh
    FROM (SELECT rollout_id, wave, count(*) FILTER (WHERE state = 'pending') AS fresh FROM started GROUP BY 1, 2) AS s
    WHERE w.rollout_id = s.rollout_id AND w.number = s.wave),
  notified AS MATERIALIZED (SELECT pg_notify('ingot', 'rollouts'))
  UPDATE rollouts SET revision = revision + 1, started_at = coalesce(started_at, now())
  FROM notified WHERE rollout_id IN (SELECT rollout_id FROM started)`;

export interface StartedMachine {
  readonly machineId: string;
  readonly rollout: RolloutStart;
  readonly operationId: string;
}

/** Only for starts that were admitted in the same transaction. */
export async function recordStarts(session: Session, started: readonly StartedMachine[]): Promise<void> {
  if (started.length === 0) return;
  await session.run('record-rollout-starts', RECORD, [
    started.map(({ rollout }) => rollout.rolloutId),
    started.map(({ machineId }) => machineId),
    started.map(({ operationId }) => operationId),
    started.map(({ rollout }) => rollout.from),
  ]);
}
