/** Pause, resume, abort, approve, reject, retry, skip and change limits: which state each needs, and what it does. */
import type { Caller } from '../../domain/access/caller.ts';
import { actorLabel } from '../../domain/actor.ts';
import { limitsOfRollout } from '../../domain/budget/limit.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import type { LimitChanges, RequestedAction } from '../../domain/rollout/requested-action.ts';
import type { Rollout, RolloutState } from '../../domain/rollout/rollout.ts';
import { rolloutEnded, waveNotWaiting, wrongRolloutState } from '../../domain/rollout/rollout-faults.ts';
import { isEnded } from '../../domain/rollout/rollout-state.ts';
import { checkDeadline } from '../../domain/rollout/spec/spec-input.ts';
import { type FailureTally, NO_FAILURES } from '../../domain/rollout/stop-rule.ts';
import {
  approveWave,
  retryMachines,
  skipMachines,
  statesOfMachines,
  waitingWave,
} from '../../store/rollouts/act-on-machines.ts';
import { findRollout } from '../../store/rollouts/find-rollouts.ts';
import { regroupMachines } from '../../store/rollouts/groups-of-rollout.ts';
import {
  type ActionContext,
  type ActionResult,
  recordRolloutAction,
} from '../../store/rollouts/record-rollout-action.ts';
import { requestFingerprint } from '../../store/rollouts/request-fingerprint.ts';
import { cancelPending } from '../../store/rollouts/write-pass.ts';
import { findTokenCreators } from '../../store/tokens.ts';
import { storedRollout } from './create-rollout.ts';
import { type FindingsDependencies, readFindings } from './read-findings.ts';
import type { RolloutDependencies } from './rollout-dependencies.ts';
import { checkWaveApprover } from './wave-approver.ts';

export interface ActOnRolloutCall {
  readonly rolloutId: string;
  readonly requestId: string;
  readonly reason: string;
  readonly caller: Caller;
  readonly action: RequestedAction;
}

/** The same request again changes nothing and answers the rollout as it is. */
export async function actOnRollout(
  dependencies: RolloutDependencies & FindingsDependencies,
  { rolloutId, requestId, reason, caller, action }: ActOnRolloutCall,
): Promise<Rollout> {
  const { database } = dependencies;
  const { actor, scope } = caller;
  const tokenCreators = await findTokenCreators(database, actor.id);
  const call = {
    rolloutId,
    actor,
    scope,
    requestId,
    reason,
    action: action.act,
    fingerprint: requestFingerprint(JSON.stringify([action, reason])),
  };
  const known = await knownFindings(dependencies, rolloutId, action);
  await recordRolloutAction(database, call, (context) =>
    applied(action, context, { caller, reason, tokenCreators, known }),
  );
  return storedRollout(dependencies, rolloutId);
}

/** What is bad when the rollout goes on does not stop it again; what goes bad afterwards does. */
async function knownFindings(
  dependencies: FindingsDependencies,
  rolloutId: string,
  { act }: RequestedAction,
): Promise<FailureTally['known']> {
  if (act !== 'resume' && act !== 'retry') return null;
  const rollout = await findRollout(dependencies.database, rolloutId, null);
  // Whether the caller may see it is decided under the lock.
  const findings = rollout === null ? null : await readFindings(dependencies, rolloutId, rollout.spec.stop);
  return findings?.map(({ key }) => key) ?? null;
}

interface Actor {
  readonly caller: Caller;
  readonly reason: string;
  /** See findTokenCreators. */
  readonly tokenCreators: readonly string[];
  /** What stop rules observe and find bad already; null: no rule observes anything. */
  readonly known: FailureTally['known'];
}

function applied(action: RequestedAction, context: ActionContext, by: Actor): Promise<ActionResult> {
  const { rolloutId, state } = context;
  const isAfterFailure = state === 'failed' && (action.act === 'retry' || action.act === 'skip');
  if (isEnded(state) && !isAfterFailure) throw rolloutEnded(rolloutId, state);
  switch (action.act) {
    case 'pause':
      return pause(context, by);
    case 'resume':
      return resume(context, by);
    case 'abort':
      return abort(context, action, by);
    case 'approve':
      return approve(context, action.wave, by);
    case 'reject':
      return reject(context, action.wave, by);
    case 'retry':
      return retry(context, action, by);
    case 'skip':
      return skip(context, action.machineIds, by);
    case 'update-limits':
      return updateLimits(context, action);
  }
}

async function pause({ rolloutId, state }: ActionContext, { reason }: Actor): Promise<ActionResult> {
  if (state !== 'running' && state !== 'scheduled')
    throw wrongRolloutState(rolloutId, state, 'only a running or scheduled rollout can be paused');
  return { detail: '', state: 'paused', reason, waitingFor: 'It is paused; resume it.' };
}

async function resume(context: ActionContext, { known }: Actor): Promise<ActionResult> {
  const { rolloutId, state } = context;
  if (state !== 'paused' && state !== 'stopped')
    throw wrongRolloutState(rolloutId, state, 'only a paused or stopped rollout can be resumed');
  return goingOn(context, '', known);
}

/** Failures before do not count for stop rules any more. */
function goingOn({ spec, now }: ActionContext, detail: string, known: FailureTally['known']): ActionResult {
  const state: RolloutState = spec.startAt !== null && spec.startAt > now ? 'scheduled' : 'running';
  const tally = { ...NO_FAILURES, known };
  return { detail, state, reason: '', waitingFor: '', tally, cancelRunning: false };
}

async function abort(
  { session, rolloutId, revision, state }: ActionContext,
  { cancelRunning }: Extract<RequestedAction, { act: 'abort' }>,
  { reason }: Actor,
): Promise<ActionResult> {
  // Once more, to cancel what the first abort let go on.
  if (state === 'aborting' && !cancelRunning)
    throw wrongRolloutState(rolloutId, state, 'it is aborted already');
  await cancelPending(session, { rolloutId, revision, message: 'the rollout was aborted before its turn' });
  const detail = cancelRunning ? 'what is under way is canceled' : 'what is under way goes on to its end';
  return { detail, state: 'aborting', reason, waitingFor: `It is aborted, and ${detail}.`, cancelRunning };
}

async function approve(
  context: ActionContext,
  asked: number,
  { caller, tokenCreators }: Actor,
): Promise<ActionResult> {
  const { session, rolloutId, createdBy } = context;
  const wave = await gateOf(context, asked);
  checkWaveApprover({ rolloutId, wave, createdBy, tokenCreators }, caller);
  await approveWave(session, { rolloutId, number: wave.number, approvedBy: actorLabel(caller.actor) });
  return { detail: `wave ${wave.number}`, waitingFor: '' };
}

async function gateOf({ session, rolloutId, state }: ActionContext, asked: number) {
  const wave = await waitingWave(session, rolloutId, asked);
  if (state === 'aborting' || wave === null) throw waveNotWaiting(rolloutId, asked);
  return wave;
}

async function reject(
  context: ActionContext,
  asked: number,
  { caller, reason }: Actor,
): Promise<ActionResult> {
  const wave = await gateOf(context, asked);
  const why = `${actorLabel(caller.actor)} rejected wave ${wave.number}${reason === '' ? '' : `: ${reason}`}`;
  return {
    detail: `wave ${wave.number}`,
    state: 'stopped',
    reason: why,
    waitingFor: `It is stopped: ${why}.`,
  };
}

async function retry(
  context: ActionContext,
  { errorCode, machineIds }: Extract<RequestedAction, { act: 'retry' }>,
  { known }: Actor,
): Promise<ActionResult> {
  const { session, rolloutId, revision, state } = context;
  if (state === 'aborting') throw wrongRolloutState(rolloutId, state, 'it starts nothing any more');
  const retried = await retryMachines(session, { rolloutId, revision, errorCode, machineIds });
  if (retried === 0)
    throw wrongRolloutState(rolloutId, state, 'none of its machines has failed that this would retry');
  const code = errorCode === '' ? '' : ` with ${errorCode}`;
  const detail = `${retried} failed machine${retried === 1 ? '' : 's'}${code}`;
  return state === 'paused' ? { detail, tally: { ...NO_FAILURES, known } } : goingOn(context, detail, known);
}

async function skip(
  { session, rolloutId, revision, state: stateBefore }: ActionContext,
  machineIds: readonly string[],
  { caller, reason }: Actor,
): Promise<ActionResult> {
  for await (const piece of statesOfMachines(session, rolloutId, machineIds))
    for (const id of piece.machineIds) {
      const state = piece.states.get(id);
      if (state === undefined) throw invalidField('machine_ids', `${id} is not in ${rolloutId}`);
      if (state !== 'pending' && state !== 'failed' && state !== 'skipped')
        throw notSkippable(rolloutId, id, state);
    }
  const message = `skipped by ${actorLabel(caller.actor)}${reason === '' ? '' : `: ${reason}`}`;
  await skipMachines(session, { rolloutId, revision, machineIds, message });
  const detail = machineIds.length === 1 ? (machineIds[0] ?? '') : `${machineIds.length} machines`;
  // One that ended in failure ends again, by what is left of its failures.
  return stateBefore === 'failed' ? { detail, state: 'running' } : { detail };
}

function notSkippable(rolloutId: string, machineId: string, state: string): Fault {
  return new Fault('WRONG_ROLLOUT_STATE', {
    message: `${machineId} is ${state} in ${rolloutId}: only machines that have not started, or that have failed, can be skipped`,
    metadata: { rollout_id: rolloutId, machine_id: machineId, state },
    violations: [{ subject: `machines/${machineId}`, description: `is ${state}` }],
  });
}

/** As callers name them. */
const FIELDS = {
  maxParallel: 'max_parallel',
  limits: 'limits',
  stop: 'stop',
  soakMs: 'soak',
  windows: 'windows',
  deadline: 'deadline',
} satisfies Record<keyof LimitChanges, string>;

async function updateLimits(
  { session, rolloutId, spec, now }: ActionContext,
  { changes }: Extract<RequestedAction, { act: 'update-limits' }>,
): Promise<ActionResult> {
  checkDeadline(changes.deadline, 'deadline', now);
  if (changes.limits) await regroupMachines(session, rolloutId, limitsOfRollout(rolloutId, changes.limits));
  const names = Object.keys(changes).map((name) => FIELDS[name as keyof LimitChanges]);
  return { detail: names.join(', '), spec: { ...spec, ...changes } };
}
