/**
 * What people do to a rollout. An action locks the row, is recorded with who did it and why, and adds one to the epoch: a start
 * that was decided before it finds another epoch and does not happen. The same request again changes nothing.
 */
import type { Scope } from '../../domain/access/scope.ts';
import { type Actor, actorLabel } from '../../domain/actor.ts';
import type { RolloutAction, RolloutState } from '../../domain/rollout/rollout.ts';
import { rolloutNotFound } from '../../domain/rollout/rollout-faults.ts';
import { isEnded } from '../../domain/rollout/rollout-state.ts';
import type { RolloutSpec } from '../../domain/rollout/spec/rollout-spec.ts';
import type { FailureTally } from '../../domain/rollout/stop-rule.ts';
import type { Database, Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import { readableIn } from '../filter/scope-condition.ts';
import { rolloutRequestReused } from './insert-rollout.ts';
import { FINGERPRINT } from './request-fingerprint.ts';
import { rolloutEvent } from './rollout-event.ts';
import { ROLLOUT_COLUMNS, type RolloutRow, specOfStored } from './rollout-rows.ts';

export interface ActionCall {
  readonly rolloutId: string;
  readonly actor: Actor;
  readonly scope: Scope | null;
  readonly requestId: string;
  readonly fingerprint: string;
  readonly action: RolloutAction['action'];
  readonly reason: string;
}

/** What the action finds: the row is locked. */
export interface ActionContext {
  readonly session: Session;
  readonly rolloutId: string;
  readonly state: RolloutState;
  readonly spec: RolloutSpec;
  readonly createdBy: string;
  /** The revision that the action makes. */
  readonly revision: number;
  readonly now: Date;
}

/** What the action makes of it; what is not set stays. */
export interface ActionResult {
  readonly detail: string;
  readonly state?: RolloutState;
  readonly reason?: string;
  readonly waitingFor?: string;
  readonly spec?: RolloutSpec;
  readonly tally?: FailureTally;
  readonly cancelRunning?: boolean;
}

export async function recordRolloutAction(
  database: Database,
  call: ActionCall,
  act: (context: ActionContext) => Promise<ActionResult>,
): Promise<void> {
  const { rolloutId, actor, action } = call;
  await database.transaction(async (session) => {
    const row = await lockRollout(session, call);
    if (await isRepeated(session, call)) return;
    const spec = specOfStored(row.spec);
    const { state: before } = row;
    const revision = row.revision + 1;
    const { createdBy, now } = { createdBy: row.created_by, now: row.now };
    const result = await act({ session, rolloutId, state: before, spec, createdBy, revision, now });
    const state = result.state ?? before;
    await writeAction(session, call, { ...result, state });
    const event = rolloutEvent({
      rolloutId,
      from: before,
      to: state,
      actor,
      comment: call.reason,
      metadata: { action, detail: result.detail },
      ...(result.spec && { before: changeable(spec), after: changeable(result.spec) }),
    });
    await appendEvents(session, [event], ['rollouts']);
  });
}

async function lockRollout(
  session: Session,
  { rolloutId, scope }: ActionCall,
): Promise<RolloutRow & { now: Date }> {
  const readable = readableIn(scope, 2);
  const visible = scope === null ? 'TRUE' : `${readable.text} AND scope <> ''`;
  const [row] = await session.run<RolloutRow & { now: Date } & Record<string, unknown>>(
    scope === null ? 'lock-rollout' : '',
    `SELECT ${ROLLOUT_COLUMNS}, clock_timestamp() AS now FROM rollouts WHERE rollout_id = $1 AND ${visible} FOR NO KEY UPDATE`,
    [rolloutId, ...readable.values],
  );
  if (!row) throw rolloutNotFound(rolloutId);
  return row;
}

/** Throws where another action on the rollout had the same request id. */
export async function isRepeated(
  session: Session,
  {
    rolloutId,
    actor,
    requestId,
    fingerprint,
  }: Pick<ActionCall, 'rolloutId' | 'actor' | 'requestId' | 'fingerprint'>,
): Promise<boolean> {
  if (requestId === '') return false;
  const [row] = await session.run<{ request_fingerprint: string }>(
    'find-rollout-act',
    `SELECT ${FINGERPRINT} AS request_fingerprint FROM rollout_actions WHERE rollout_id = $1 AND done_by = $2 AND request_id = $3`,
    [rolloutId, actorLabel(actor), requestId],
  );
  if (row && row.request_fingerprint !== fingerprint) throw rolloutRequestReused(rolloutId, requestId);
  return row !== undefined;
}

/** What was read of the spec has no ids of machines (rollout-rows.ts), and an action changes none. */
const WRITE = `
  UPDATE rollouts SET state = $2, reason = coalesce($3, reason), waiting_for = coalesce($4, waiting_for),
    spec = coalesce($5::jsonb || jsonb_build_object('machineIds', spec->'machineIds'), spec), tally = coalesce($6, tally), cancel_running = coalesce($7, cancel_running),
    finished_at = CASE WHEN $8 THEN coalesce(finished_at, now()) END, epoch = epoch + 1, revision = revision + 1
  WHERE rollout_id = $1`;

async function writeAction(
  session: Session,
  { rolloutId, actor, action, reason, requestId, fingerprint }: ActionCall,
  result: ActionResult & { readonly state: RolloutState },
): Promise<void> {
  await session.run('write-rollout-act', WRITE, [
    rolloutId,
    result.state,
    result.reason ?? null,
    result.waitingFor ?? null,
    result.spec === undefined ? null : JSON.stringify(result.spec),
    result.tally === undefined ? null : JSON.stringify(result.tally),
    result.cancelRunning ?? null,
    isEnded(result.state),
  ]);
  await session.run(
    'insert-rollout-act',
    `INSERT INTO rollout_actions (rollout_id, action, done_by, reason, detail, request_id, request_fingerprint)
     SELECT $1, $2, $3, $4, $5, CASE WHEN $6 = '' THEN 'act-' || r.epoch ELSE $6 END, $7 FROM rollouts r WHERE r.rollout_id = $1`,
    [rolloutId, action, actorLabel(actor), reason, result.detail, requestId, fingerprint],
  );
}

/** What an action can change of a spec. */
function changeable({ maxParallel, limits, stop, soakMs, windows, deadline }: RolloutSpec) {
  return { maxParallel, limits, stop, soakMs, windows, deadline };
}
