/**
 * How the stages of an onboarding are undone in MAAS. Only what this operation made is taken away: what it found, or what
 * somebody else did meanwhile, stays.
 */
import type { StepContext } from '../../engine/step-handler.ts';
import type { MaasMachine } from '../../providers/maas/maas-control.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import {
  type Acted,
  countOf,
  madeIn,
  observedIn,
  REPEAT_UNDO_MS,
  spaced,
  started,
} from '../stages/stage-handling.ts';
import { callOf, undoCallOf } from '../step-kind.ts';
import { hostnamesOf } from './hostname.ts';
import { markRelease } from './release-erasure.ts';
import { endHung, isLeaving, whileLeaving } from './release-progress.ts';
import { idOf, type MaasStepEnvironment } from './upstream-environment.ts';

const LEFT: Acted = { result: 'done', message: 'it was there before: left as it is' };
const COMMISSIONING: readonly string[] = ['Commissioning', 'Testing'];
/** Somebody has it: allocated, deployed or on the way there. */
const IN_USE: readonly string[] = ['Allocated', 'Reserved', 'Deploying', 'Deployed'];
const TO_BE_RELEASED: readonly string[] = ['Deployed', 'Failed deployment', 'Allocated', 'Reserved'];

/** How often a release that hangs is helped. */
const MAX_HELPED = 3;

const done = (message: string): Acted => ({ result: 'done', message });

export async function undoCommissioning(
  environment: MaasStepEnvironment,
  context: StepContext,
): Promise<Acted> {
  if (!madeIn(context).commissioning) return LEFT;
  const call = undoCallOf(context, environment.machine);
  const seen =
    idOf(environment) === '' ? null : await environment.capabilities.maas.read(call, idOf(environment));
  if (seen === null || !COMMISSIONING.includes(seen.status))
    return done(`nothing is under way: ${seen?.status ?? 'absent'}`);
  await spaced(context, 'abortedAt', () =>
    environment.capabilities.maas.abort(call, seen.systemId, 'the operation was canceled'),
  );
  return started(`waiting for MAAS to stop ${seen.status}`);
}

export async function undoDeployment(environment: MaasStepEnvironment, context: StepContext): Promise<Acted> {
  return madeIn(context).deployment ? takeBack(environment, context) : LEFT;
}

/** The machine back to MAAS, without what this operation put on it or was about to. */
export async function takeBack(environment: MaasStepEnvironment, context: StepContext): Promise<Acted> {
  const { machine, capabilities, controlPlane } = environment;
  const call = undoCallOf(context, machine);
  // First of all, so that what runs there speaks for the machine no longer.
  if (machine.presence !== null && machine.presence !== 'expired')
    await context.effect(() => controlPlane.nodeServices.forgetSecrets(call));
  const seen = idOf(environment) === '' ? null : await capabilities.maas.read(call, idOf(environment));
  if (seen === null) return done('MAAS has no such machine');
  if (seen.status === 'Deploying') {
    await spaced(context, 'abortedAt', () =>
      capabilities.maas.abort(call, seen.systemId, 'the operation was canceled'),
    );
    return started('waiting for MAAS to stop the deployment');
  }
  // A site may have disks erased at every release.
  const isFailed = seen.status === 'Releasing failed' || seen.status === 'Failed disk erasing';
  if (TO_BE_RELEASED.includes(seen.status) || (isFailed && countOf(context, 'releasedAt') === 0)) {
    const release = {
      erase: false,
      secureErase: false,
      quickErase: false,
      comment: 'the operation was canceled',
    };
    await markRelease(environment, context, call);
    await spaced(context, 'releasedAt', () => capabilities.maas.release(call, seen.systemId, release));
    return started('waiting for MAAS to release the machine');
  }
  if (isLeaving(seen)) return waitForLeaving(environment, context, { call, seen });
  if (isFailed) return notReleased(seen);
  return { ...done(`released: MAAS says ${seen.status}`), change: observed(environment, context, seen) };
}

/** A release that hangs is helped, as in a decommission; each time, because the site has the disks erased once more. */
async function waitForLeaving(
  environment: MaasStepEnvironment,
  context: StepContext,
  { call, seen }: { call: ProviderCall; seen: MaasMachine },
): Promise<Acted> {
  const leaving = await whileLeaving(environment, context, { call, seen });
  if (leaving.seen === 'under_way') return started(leaving.reason, leaving.pollAfterMs);
  if (countOf(context, 'helped') >= MAX_HELPED) return notReleased(seen);
  if (context.now().getTime() - countOf(context, 'helpedAt') < REPEAT_UNDO_MS && seen.status === 'Releasing')
    return started(`MAAS says ${seen.status}`);
  const helped = await endHung(environment, context, { call, seen });
  const memo = { helped: countOf(context, 'helped') + 1, helpedAt: context.now().getTime(), releasedAt: 0 };
  await context.save({ ...context.memo, ...memo });
  return helped;
}

function notReleased({ status, statusMessage }: MaasMachine): Acted {
  const message = `MAAS could not release the machine: ${status}, ${statusMessage}`;
  return { result: 'failed', failure: { class: 'retryable', code: 'RELEASE_FAILED', message } };
}

export async function undoRecord(environment: MaasStepEnvironment, context: StepContext): Promise<Acted> {
  const { record } = madeIn(context);
  if (record === undefined) return LEFT;
  const { machine, capabilities } = environment;
  const call = undoCallOf(context, machine);
  const found = await capabilities.maas.findByMac(callOf(context, machine), machine.spec.mac_addresses);
  // Whoever died between adding it and writing its id down is known by the name that it was given.
  const ours = found.find(({ systemId, hostname }) =>
    typeof record === 'string' ? systemId === record : hostnamesOf(machine).includes(hostname),
  );
  if (!ours) return { ...done('MAAS has no record of it'), change: observed(environment, context, null) };
  if (IN_USE.includes(ours.status)) return done(`MAAS says ${ours.status}: somebody uses it, so it stays`);
  await spaced(context, 'removedAt', () => capabilities.maas.remove(call, ours.systemId));
  return started('waiting for the record to be gone');
}

function observed(
  { machine }: MaasStepEnvironment,
  context: StepContext,
  seen: Parameters<typeof observedIn>[1],
) {
  return observedIn(machine.spec.provider, seen, machine, context.now());
}
