/** What actions do to the machines and the waves of a rollout, under the lock of its row. */
import type { Role } from '../../domain/actor.ts';
import type { RolloutMachineState } from '../../domain/rollout/rollout.ts';
import type { Gate } from '../../domain/rollout/spec/rollout-spec.ts';
import type { Session } from '../database/database.ts';
import { moveMachines } from './write-pass.ts';

interface OfRollout {
  readonly rolloutId: string;
  readonly revision: number;
}

export interface RetryCall extends OfRollout {
  /** Empty: whatever the code. */
  readonly errorCode: string;
  /** Empty: all. */
  readonly machineIds: readonly string[];
}

/** From the step that failed, with a new operation. Their waves are open again. Returns how many there are. */
export async function retryMachines(session: Session, call: RetryCall): Promise<number> {
  let machines = 0;
  for (const machineIds of piecesOf(call.machineIds))
    machines += await retryPiece(session, { ...call, machineIds });
  return machines;
}

/**
 * A list of ids is a text in the statement, and a hundred thousand would keep other calls waiting. It is joined and not compared: from
 * the sixth piece on PostgreSQL plans without the values, and then ANY compares each row with each id.
 */
const PIECE = 5_000;

/** An empty list is one piece. */
function piecesOf(machineIds: readonly string[]): (readonly string[])[] {
  const pieces = [machineIds.slice(0, PIECE)];
  for (let start = PIECE; start < machineIds.length; start += PIECE)
    pieces.push(machineIds.slice(start, start + PIECE));
  return pieces;
}

async function retryPiece(session: Session, call: RetryCall): Promise<number> {
  const [row] = await session.run<{ machines: number }>(
    'retry-rollout-machines',
    `WITH retried AS (
       UPDATE rollout_machines SET state = 'pending', attempt = attempt + 1, operation_id = NULL, error_code = '', message = '',
         not_before = NULL, matches_since = NULL, finished_at = NULL, revision = $2
       WHERE rollout_id = $1 AND state = 'failed' AND ($3 = '' OR error_code = $3)
         AND (cardinality($4::text[]) = 0 OR machine_id IN (SELECT unnest($4::text[]))) RETURNING wave),
     counted AS (
       UPDATE rollout_waves w SET failed = w.failed - r.machines, pending = w.pending + r.machines,
         state = CASE WHEN w.state IN ('done', 'soaking') THEN 'running' ELSE w.state END, finished_at = NULL
       FROM (SELECT wave, count(*) AS machines FROM retried GROUP BY wave) AS r
       WHERE w.rollout_id = $1 AND w.number = r.wave)
     SELECT count(*)::integer AS machines FROM retried`,
    [call.rolloutId, call.revision, call.errorCode, call.machineIds],
  );
  return row?.machines ?? 0;
}

export interface SkipCall extends OfRollout {
  readonly machineIds: readonly string[];
  readonly message: string;
}

/** The states that the machines have now, in pieces; those that are not in the rollout are left out. */
export async function* statesOfMachines(
  session: Session,
  rolloutId: string,
  machineIds: readonly string[],
): AsyncGenerator<{
  readonly machineIds: readonly string[];
  readonly states: ReadonlyMap<string, RolloutMachineState>;
}> {
  for (const piece of piecesOf(machineIds))
    yield { machineIds: piece, states: await statesOfPiece(session, rolloutId, piece) };
}

async function statesOfPiece(
  session: Session,
  rolloutId: string,
  machineIds: readonly string[],
): Promise<ReadonlyMap<string, RolloutMachineState>> {
  const rows = await session.run<{ machine_id: string; state: RolloutMachineState }>(
    'states-of-rollout-machines',
    'SELECT machine_id, state FROM rollout_machines WHERE rollout_id = $1 AND machine_id IN (SELECT unnest($2::text[]))',
    [rolloutId, machineIds],
  );
  return new Map(rows.map(({ machine_id, state }) => [machine_id, state]));
}

/** Only of machines that are pending or failed. */
export async function skipMachines(session: Session, call: SkipCall): Promise<void> {
  for (const machineIds of piecesOf(call.machineIds)) await skipPiece(session, { ...call, machineIds });
}

async function skipPiece(session: Session, call: SkipCall): Promise<void> {
  const rows = await session.run<{
    machine_id: string;
    wave: number;
    state: RolloutMachineState;
    step: number;
  }>(
    'machines-to-skip',
    `SELECT machine_id, wave, state, step FROM rollout_machines
     WHERE rollout_id = $1 AND machine_id IN (SELECT unnest($2::text[])) AND state IN ('pending', 'failed')`,
    [call.rolloutId, call.machineIds],
  );
  const moves = rows.map(({ machine_id, wave, state, step }) => ({
    machineId: machine_id,
    wave,
    from: state,
    to: 'skipped' as const,
    step,
    errorCode: '',
    message: call.message,
    matchesSince: null,
    stepSince: null,
  }));
  await moveMachines(session, { ...call, moves });
}

export interface GatedWave {
  readonly number: number;
  readonly gate: Gate;
  readonly approvalRule: string;
  readonly approverRole: Role;
}

/** 0: the first that waits. Null: it does not wait for approval. */
export async function waitingWave(
  session: Session,
  rolloutId: string,
  number: number,
): Promise<GatedWave | null> {
  const [row] = await session.run<{
    number: number;
    gate: Gate;
    approval_rule: string;
    approver_role: Role;
  }>(
    'waiting-wave',
    `SELECT number, gate, approval_rule, approver_role FROM rollout_waves
     WHERE rollout_id = $1 AND state = 'waiting_for_approval' AND approved_by = '' AND ($2 = 0 OR number = $2)
     ORDER BY number LIMIT 1`,
    [rolloutId, number],
  );
  if (!row) return null;
  const { gate, approval_rule: approvalRule, approver_role: approverRole } = row;
  return { number: row.number, gate, approvalRule, approverRole };
}

export async function approveWave(
  session: Session,
  {
    rolloutId,
    number,
    approvedBy,
  }: { readonly rolloutId: string; readonly number: number; readonly approvedBy: string },
): Promise<void> {
  await session.run(
    'approve-wave',
    'UPDATE rollout_waves SET approved_by = $3, approved_at = now() WHERE rollout_id = $1 AND number = $2',
    [rolloutId, number, approvedBy],
  );
}
