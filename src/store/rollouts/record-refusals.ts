/** Machines whose start was refused: those that failed by it, and those that are tried again later. */
import { withFailure } from '../../domain/rollout/stop-rule.ts';
import type { Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import { ROLLOUTS, rolloutEvent } from './rollout-event.ts';
import type { RolloutRow } from './rollout-rows.ts';
import { moveMachines } from './write-pass.ts';

export interface RefusedStart {
  readonly machineId: string;
  readonly wave: number;
  readonly step: number;
  readonly from: 'pending' | 'running';
  readonly errorCode: string;
  readonly message: string;
}

export interface Refusals {
  readonly rolloutId: string;
  /** Of the decision to start: where it has changed, someone else decides. */
  readonly epoch: number;
  readonly failed: readonly RefusedStart[];
  readonly putOff: readonly RefusedStart[];
  readonly putOffMs: number;
}

export async function recordRefusals(session: Session, refusals: Refusals): Promise<void> {
  const { rolloutId, epoch, failed, putOff, putOffMs } = refusals;
  const [row] = await session.run<Pick<RolloutRow, 'tally' | 'revision'>>(
    'lock-rollout-refusals',
    'SELECT tally, revision FROM rollouts WHERE rollout_id = $1 AND epoch = $2 FOR NO KEY UPDATE',
    [rolloutId, epoch],
  );
  if (!row) return;
  const revision = row.revision + 1;
  const moves = failed.map((machine) => ({
    ...machine,
    to: 'failed' as const,
    matchesSince: null,
    stepSince: null,
  }));
  await moveMachines(session, { rolloutId, revision, moves });
  const tally = failed.reduce((sum, { errorCode, wave }) => withFailure(sum, errorCode, wave), row.tally);
  await session.run('put-off-rollout-machines', PUT_OFF, [
    rolloutId,
    revision,
    putOffMs,
    putOff.map(({ machineId }) => machineId),
    putOff.map(({ message }) => message),
    JSON.stringify(tally),
  ]);
  const events = failed.map(({ machineId, from, errorCode, message }) =>
    rolloutEvent({
      rolloutId,
      machineId,
      from,
      to: 'failed',
      actor: ROLLOUTS,
      comment: message,
      metadata: { error_code: errorCode },
    }),
  );
  await appendEvents(session, events, ['rollouts']);
}

const PUT_OFF = `
  WITH put_off AS (
    UPDATE rollout_machines m SET message = i.message, not_before = clock_timestamp() + $3 * interval '1 ms', revision = $2
    FROM unnest($4::text[], $5::text[]) AS i(machine, message)
    WHERE m.rollout_id = $1 AND m.machine_id = i.machine)
  UPDATE rollouts SET tally = $6, revision = revision + 1 WHERE rollout_id = $1`;
