/** A row of `operations` with the columns that the engine needs, and the row as the engine's job. */
import { ACTOR_KINDS, type ActorKind } from '../../../domain/actor.ts';
import type { Adopting, CancelRequest, Job } from '../../../engine/job.ts';
import { OPERATION_COLUMNS, type OperationRow } from '../../database/rows.ts';

export interface CancelColumns {
  cancel_requested: boolean;
  cancel_actor_kind: string | null;
  cancel_actor_id: string | null;
  cancel_reason: string;
}

export interface EngineRow extends OperationRow, CancelColumns {
  owner: string | null;
  epoch: number;
  deaths: number;
  signals: number;
  log_bytes: number;
  adopting: Adopting;
  restarting: boolean;
  clock_ms: number;
}

export const ENGINE_COLUMNS = `${OPERATION_COLUMNS}, owner, epoch, deaths, signals, log_bytes, adopting, restarting, clock_ms,
  cancel_actor_kind, cancel_actor_id, cancel_reason`;

export function jobOf(row: EngineRow): Job {
  return {
    id: row.operation_id,
    subject: row.machine_id,
    type: row.type,
    completionPolicy: row.contract,
    params: row.params,
    status: row.status,
    steps: row.steps,
    current: row.current,
    error: row.error,
    waitingFor: row.waiting_for,
    cancel: cancelOf(row),
    epoch: row.epoch,
    signals: row.signals,
    deaths: row.deaths,
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    logBytes: row.log_bytes,
    adopting: row.adopting,
    restarting: row.restarting,
    clockMs: row.clock_ms,
  };
}

export function cancelOf(row: CancelColumns): CancelRequest | null {
  if (!row.cancel_requested) return null;
  const kind = ACTOR_KINDS.find((known: ActorKind) => known === row.cancel_actor_kind) ?? 'system';
  return { actor: { kind, id: row.cancel_actor_id ?? '' }, reason: row.cancel_reason };
}
