/**
 * How the stages of an onboarding are undone at the upstream. Only what this operation created is taken away: what it
 * found, or what another user did meanwhile, stays.
 */
import type { StepContext } from '../../engine/step-handler.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import type { UpstreamMachine, UpstreamState } from '../../providers/upstream.ts';
import { countOf, createdIn, REPEAT_UNDO_MS, spaced } from '../stages/stage-memo.ts';
import { type Acted, started } from '../stages/stage-result.ts';
import { callOf, undoCallOf } from '../step-kind.ts';
import { markRelease } from './release-erasure.ts';
import { isLeaving, observeRelease, unblockRelease } from './release-progress.ts';
import { observedAs, readUpstream, saysOf, type UpstreamEnvironment } from './upstream-environment.ts';

const LEFT: Acted = { result: 'done', message: 'it was there before: left as it is' };
const COMMISSIONING: readonly UpstreamState[] = ['commissioning', 'testing'];
const IN_USE: readonly UpstreamState[] = ['reserved', 'deploying', 'deployed'];
const TO_BE_RELEASED: readonly UpstreamState[] = ['deployed', 'deployment_failed', 'reserved'];
const CANCELED = 'the operation was canceled';

/** How often a release that is stuck is unblocked. */
const MAX_UNBLOCKED = 3;

const done = (message: string): Acted => ({ result: 'done', message });

export async function undoCommissioning(
  environment: UpstreamEnvironment,
  context: StepContext,
): Promise<Acted> {
  if (!createdIn(context).commissioning) return LEFT;
  const { upstream } = environment.capabilities;
  const call = undoCallOf(context, environment.machine);
  const seen = await readUpstream(environment, call);
  if (seen === null || !COMMISSIONING.includes(seen.state))
    return done(`nothing is under way: ${seen?.status ?? 'absent'}`);
  await spaced(context, 'abortedAt', () => upstream.abort(call, seen.id, CANCELED));
  return started(`waiting for ${upstream.product} to stop ${seen.status}`);
}

export async function undoDeployment(environment: UpstreamEnvironment, context: StepContext): Promise<Acted> {
  return createdIn(context).deployment ? takeBack(environment, context) : LEFT;
}

/** Gives the machine back, without what this operation put on it or was about to. */
export async function takeBack(environment: UpstreamEnvironment, context: StepContext): Promise<Acted> {
  const { machine, capabilities, controlPlane } = environment;
  const { upstream } = capabilities;
  const call = undoCallOf(context, machine);
  // First of all, so that what runs there no longer reports for the machine.
  if (machine.presence !== null && machine.presence !== 'expired')
    await context.effect(() => controlPlane.nodeServices.forgetSecrets(call));
  const seen = await readUpstream(environment, call);
  if (seen === null) return done(`${upstream.product} has no such machine`);
  if (seen.state === 'deploying') {
    await spaced(context, 'abortedAt', () => upstream.abort(call, seen.id, CANCELED));
    return started(`waiting for ${upstream.product} to stop the deployment`);
  }
  // A site may have disks erased at every release.
  const isFailed = seen.state === 'release_failed';
  if (TO_BE_RELEASED.includes(seen.state) || (isFailed && countOf(context, 'releasedAt') === 0)) {
    await markRelease(environment, context, call);
    await spaced(context, 'releasedAt', () =>
      upstream.release(call, seen.id, { disks: 'keep', comment: CANCELED }),
    );
    return started(`waiting for ${upstream.product} to release the machine`);
  }
  if (isLeaving(seen)) return waitForRelease(environment, context, { call, seen });
  if (isFailed) return notReleased(environment, seen);
  return {
    ...done(`released: ${saysOf(environment, seen)}`),
    change: observedAs(environment, seen, context.now()),
  };
}

/** A release that is stuck is unblocked, as in a decommission; each time, because the site has the disks erased once more. */
async function waitForRelease(
  environment: UpstreamEnvironment,
  context: StepContext,
  { call, seen }: { call: ProviderCall; seen: UpstreamMachine },
): Promise<Acted> {
  const leaving = await observeRelease(environment, context, { call, seen });
  if (leaving.seen === 'under_way') return started(leaving.reason, leaving.pollAfterMs);
  if (countOf(context, 'helped') >= MAX_UNBLOCKED) return notReleased(environment, seen);
  const isRecent = context.now().getTime() - countOf(context, 'helpedAt') < REPEAT_UNDO_MS;
  if (isRecent && seen.state === 'releasing') return started(saysOf(environment, seen));
  const unblocked = await unblockRelease(environment, context, { call, seen });
  const memo = { helped: countOf(context, 'helped') + 1, helpedAt: context.now().getTime(), releasedAt: 0 };
  await context.save({ ...context.memo, ...memo });
  return unblocked;
}

function notReleased(
  { capabilities: { upstream } }: UpstreamEnvironment,
  { status, statusMessage }: UpstreamMachine,
): Acted {
  const message = `${upstream.product} could not release the machine: ${status}, ${statusMessage}`;
  return { result: 'failed', failure: { class: 'retryable', code: 'RELEASE_FAILED', message } };
}

export async function undoRecord(environment: UpstreamEnvironment, context: StepContext): Promise<Acted> {
  const { record } = createdIn(context);
  if (record === undefined) return LEFT;
  const { machine, capabilities } = environment;
  const { upstream } = capabilities;
  const found = await upstream.find(callOf(context, machine));
  // A process that died between adding the record and saving its id has left it under the name that it was given.
  const ours = found.find(({ id, hostname }) =>
    typeof record === 'string' ? id === record : upstream.site.hostnamesOf(machine).includes(hostname),
  );
  if (!ours) {
    const change = observedAs(environment, null, context.now());
    return { ...done(`${upstream.product} has no record of it`), change };
  }
  if (IN_USE.includes(ours.state)) return done(`${saysOf(environment, ours)}: it is in use, so it stays`);
  await spaced(context, 'removedAt', () => upstream.remove(undoCallOf(context, machine), ours.id));
  return started('waiting for the record to be gone');
}
