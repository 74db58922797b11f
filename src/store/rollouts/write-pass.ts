/** Writes what a pass decided, in the transaction in which it was read. The counts of waves follow the machines. */
import type { NewEvent } from '../../domain/event.ts';
import type { MachineMove, PassDecision, WaveMove } from '../../domain/rollout/decide/pass-view.ts';
import { isEnded, statesOfRolloutMachines } from '../../domain/rollout/rollout-state.ts';
import type { Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import type { LockedRollout } from './read-pass.ts';
import { ROLLOUTS, rolloutEvent } from './rollout-event.ts';

/** Whether anything was written. */
export async function writePass(
  session: Session,
  { row, view }: LockedRollout,
  decision: PassDecision,
): Promise<'changed' | 'unchanged'> {
  const { rollout_id: rolloutId } = row;
  const isChanged =
    decision.moves.length > 0 ||
    decision.waves.length > 0 ||
    decision.cancelPending !== '' ||
    decision.state !== row.state ||
    decision.reason !== row.reason ||
    decision.waitingFor !== row.waiting_for ||
    (decision.tally.known !== null && row.tally.known === null);
  if (!isChanged) return 'unchanged';
  const revision = row.revision + 1;
  await moveMachines(session, { rolloutId, revision, moves: decision.moves });
  await moveWaves(session, rolloutId, decision.waves);
  if (decision.cancelPending !== '')
    await cancelPending(session, { rolloutId, revision, message: decision.cancelPending });
  await session.run('write-rollout-pass', WRITE, [
    rolloutId,
    decision.state,
    decision.reason,
    decision.waitingFor,
    JSON.stringify(decision.tally),
    isEnded(decision.state) ? 'ended' : 'open',
    decision.state === 'stopped' && row.state !== 'stopped' && view.spec.stop.cancelRunning,
    decision.state === 'running',
  ]);
  await appendEvents(session, eventsOf(rolloutId, row.state, decision), ['rollouts']);
  return 'changed';
}

const WRITE = `
  UPDATE rollouts SET state = $2, reason = $3, waiting_for = $4, tally = $5, revision = revision + 1,
    cancel_running = cancel_running OR $7,
    started_at = CASE WHEN $8 THEN coalesce(started_at, now()) ELSE started_at END,
    finished_at = CASE WHEN $6 = 'ended' THEN now() END, owner = CASE WHEN $6 = 'ended' THEN NULL ELSE owner END
  WHERE rollout_id = $1`;

function eventsOf(rolloutId: string, from: string, decision: PassDecision): NewEvent[] {
  const events: NewEvent[] = decision.waves.map((wave) =>
    rolloutEvent({
      rolloutId,
      from: wave.from,
      to: wave.to,
      actor: ROLLOUTS,
      comment: `wave ${wave.number}`,
      metadata: { wave: wave.number },
    }),
  );
  if (decision.state !== from)
    events.push(
      rolloutEvent({ rolloutId, from, to: decision.state, actor: ROLLOUTS, comment: decision.reason }),
    );
  return events;
}

interface Moves {
  readonly rolloutId: string;
  readonly revision: number;
  readonly moves: readonly MachineMove[];
}

/** A machine that goes on to another step has no operation until that step's starts. */
const MOVE = `
  WITH moved AS (
    UPDATE rollout_machines m SET state = i.state, step = i.step, error_code = i.code, message = i.message,
      operation_id = CASE WHEN i.step = m.step AND i.state <> 'pending' THEN m.operation_id END,
      step_since = coalesce(i.step_since, m.step_since), matches_since = i.matches_since, not_before = NULL,
      started_at = CASE WHEN i.state = 'running' THEN coalesce(m.started_at, now()) ELSE m.started_at END,
      finished_at = CASE WHEN i.state NOT IN ('running', 'pending') THEN now() END, revision = $2
    FROM unnest($3::text[], $4::text[], $5::text[], $6::integer[], $7::text[], $8::text[], $9::timestamptz[],
      $10::timestamptz[]) AS i(machine, was, state, step, code, message, step_since, matches_since)
    WHERE m.rollout_id = $1 AND m.machine_id = i.machine
    RETURNING m.wave, i.was, i.state)
  UPDATE rollout_waves w SET ${statesOfRolloutMachines.map((state) => `${state} = w.${state} + d.${state}`).join(', ')}
  FROM (SELECT wave, ${statesOfRolloutMachines
    .map(
      (state) =>
        `count(*) FILTER (WHERE state = '${state}') - count(*) FILTER (WHERE was = '${state}') AS ${state}`,
    )
    .join(', ')} FROM moved WHERE state <> was GROUP BY wave) AS d
  WHERE w.rollout_id = $1 AND w.number = d.wave`;

export async function moveMachines(session: Session, { rolloutId, revision, moves }: Moves): Promise<void> {
  if (moves.length === 0) return;
  await session.run('move-rollout-machines', MOVE, [
    rolloutId,
    revision,
    moves.map(({ machineId }) => machineId),
    moves.map(({ from }) => from),
    moves.map(({ to }) => to),
    moves.map(({ step }) => step),
    moves.map(({ errorCode }) => errorCode),
    moves.map(({ message }) => message),
    moves.map(({ stepSince }) => stepSince),
    moves.map(({ matchesSince }) => matchesSince),
  ]);
}

async function moveWaves(session: Session, rolloutId: string, waves: readonly WaveMove[]): Promise<void> {
  if (waves.length === 0) return;
  await session.run(
    'move-rollout-waves',
    `UPDATE rollout_waves w SET state = i.state, soaks_until = i.soaks_until,
       started_at = CASE WHEN i.state = 'running' THEN coalesce(w.started_at, now()) ELSE w.started_at END,
       finished_at = CASE WHEN i.state IN ('soaking', 'done') THEN coalesce(w.finished_at, now()) END
     FROM unnest($2::integer[], $3::text[], $4::timestamptz[]) AS i(number, state, soaks_until)
     WHERE w.rollout_id = $1 AND w.number = i.number`,
    [
      rolloutId,
      waves.map(({ number }) => number),
      waves.map(({ to }) => to),
      waves.map(({ soaksUntil }) => soaksUntil),
    ],
  );
}

export async function cancelPending(
  session: Session,
  {
    rolloutId,
    revision,
    message,
  }: { readonly rolloutId: string; readonly revision: number; readonly message: string },
): Promise<void> {
  await session.run(
    'cancel-pending-machines',
    `WITH canceled AS (
       UPDATE rollout_machines SET state = 'canceled', message = $3, finished_at = now(), revision = $2
       WHERE rollout_id = $1 AND state = 'pending' RETURNING wave)
     UPDATE rollout_waves w SET pending = w.pending - c.machines, canceled = w.canceled + c.machines
     FROM (SELECT wave, count(*) AS machines FROM canceled GROUP BY wave) AS c
     WHERE w.rollout_id = $1 AND w.number = c.wave`,
    [rolloutId, revision, message],
  );
}
