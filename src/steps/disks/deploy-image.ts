/**
 * An image for a machine of a MAAS. To MAAS that is a deployment, and a machine that is in use has to be released first;
 * so there are two acts, release and deploy, each set off where MAAS says that it is next, and seen by what MAAS says then.
 *
 * Whether a machine that is Deployed is so by us, or still as it was found, MAAS does not say. What this operation set off
 * is remembered before it does so: a deployment is ours once we asked for it, which we do only after the old one was seen gone,
 * and if it has the image that we asked for. Nothing is released before MAAS was asked for the image.
 *
 * A release is asked not to erase: the deployment writes a new partition table over the disks of its layout, and others keep
 * what is on them. A site may have them erased all the same, so what MAAS did is read and logged.
 */
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepContext, StepHandler } from '../../engine/step-handler.ts';
import type { MaasImage, MaasMachine } from '../../providers/maas/maas-control.ts';
import { imageText, isImage } from '../../providers/maas/maas-images.ts';
import { machineByMac } from '../../providers/maas/machine-by-mac.ts';
import type { DeployedImages } from '../../providers/provider.ts';
import {
  ABSENT,
  type Acted,
  countOf,
  countOne,
  failed,
  madeIn,
  needsHuman,
  observedIn,
  rememberMaking,
  type Seen,
  started,
  underWay,
} from '../stages/stage-handling.ts';
import { callOf, undoCallOf } from '../step-kind.ts';
import {
  classifyFailure,
  datasourceFailed,
  deployMachine,
  MAX_DATASOURCE_RETRIES,
} from '../upstream/deployment.ts';
import { markRelease, reportErasing } from '../upstream/release-erasure.ts';
import { endHung, isLeaving, whileLeaving } from '../upstream/release-progress.ts';
import { takeBack } from '../upstream/undo-onboarding.ts';
import type { MaasStepEnvironment } from '../upstream/upstream-environment.ts';
import { wiped, written } from './image-conditions.ts';

export interface ImageDeployment {
  readonly image: string;
  /** Of the machine's agent; empty: it has none, and gets none. */
  readonly pool: string;
}

type Next = 'release' | 'deploy';

/** What has to happen to a machine before, or that, it can be deployed. Anything else is waited for, or for people. */
const NEXT: Readonly<Partial<Record<MaasMachine['status'], Next>>> = {
  Ready: 'deploy',
  Allocated: 'deploy',
  Reserved: 'deploy',
  Deployed: 'release',
  'Failed deployment': 'release',
  'Releasing failed': 'release',
  'Failed disk erasing': 'release',
};

export function deployImage(
  { image, pool }: ImageDeployment,
  environment: MaasStepEnvironment,
  images: DeployedImages,
): StepHandler<MachineChange> {
  return {
    async observe(context) {
      const { machine, capabilities } = environment;
      const seen = await machineByMac(capabilities.maas, callOf(context, machine), machine);
      const verdict = await verdictOn(environment, context, seen, image);
      if (verdict.seen !== 'done' && verdict.seen !== 'failed') {
        if (verdict.seen === 'under_way') await logNews(context, seen);
        return verdict;
      }
      const observed = observedIn(machine.spec.provider, seen, machine, context.now());
      return { ...verdict, change: { ...verdict.change, ...observed } };
    },

    async act(context) {
      const { machine, capabilities } = environment;
      const call = callOf(context, machine);
      const seen = await machineByMac(capabilities.maas, call, machine);
      const found = await images.find(call, seen, image);
      const next = NEXT[seen.status];
      // It hangs, or has moved on since it was seen.
      if (isLeaving(seen) && context.memo.hung === seen.status)
        return endHung(environment, context, { call, seen });
      if (next === undefined) return started(`MAAS says ${seen.status}`);
      // Before anything of it is touched: whoever has it may have an agent of ours on it.
      await capabilities.maas.checkOurs(call, seen);
      await context.save({ ...context.memo, lastAct: actFor(context, next) });
      return next === 'release'
        ? release(environment, context, seen)
        : deploy(environment, context, seen, { ...found, pool, asked: image });
    },

    async undo(context) {
      const { machine, capabilities } = environment;
      const { released: isReleased, deployment, image: asked } = madeIn(context);
      if (!isReleased && !deployment) return { result: 'done', message: 'nothing was released or deployed' };
      const seen = await machineByMac(capabilities.maas, undoCallOf(context, machine), machine);
      const isComplete = seen.status === 'Deployed' && isImage(seen.image, String(asked));
      if (seen.status === 'Deployed' && !deployment) {
        return { result: 'done', message: 'the machine was not released: it stays as it is' };
      }
      if (isComplete) return { result: 'done', message: `${image} stays: it was deployed completely` };
      const message = `deploying ${image} was stopped; the machine has no system, and is MAAS' again`;
      const undone = await takeBack(known(environment, seen), context);
      if (undone.result !== 'done') return undone;
      context.log(message, 'stderr');
      return { ...undone, message, change: { ...undone.change, ...wiped('ImagingCanceled', message) } };
    },
  };
}

async function verdictOn(
  environment: MaasStepEnvironment,
  context: StepContext,
  seen: MaasMachine,
  image: string,
): Promise<Seen> {
  const { deployment: isOurs, released: isReleased, image: asked } = madeIn(context);
  const says = `MAAS says ${seen.status}`;
  switch (seen.status) {
    case 'Deployed':
      if (!isOurs) break;
      if (isImage(seen.image, String(asked))) {
        context.log(`MAAS says Deployed: ${asked}`);
        const message = `${image} was deployed`;
        return { seen: 'done', message, change: written(message) };
      }
      return stranger(`${says}, with ${imageText(seen.image)}: somebody else deployed it`);
    case 'Deploying':
      return isOurs ? underWay(context, `deploying ${image}`) : stranger(`${says}: somebody else deploys it`);
    case 'Releasing':
    case 'Disk erasing': {
      // Of what somebody else released, it is not ours to say that it hangs.
      if (!isReleased) return underWay(context, says);
      return whileLeaving(known(environment, seen), context, {
        call: callOf(context, environment.machine),
        seen,
      });
    }
    case 'Failed deployment': {
      // One that was found, or that an attempt before this one has failed of.
      if (countOf(context, 'deployed') === 0) break;
      const verdict =
        countOf(context, 'deployed') > MAX_DATASOURCE_RETRIES
          ? datasourceFailed()
          : await classifyFailure(environment, callOf(context, environment.machine), seen);
      if (verdict.seen !== 'failed') break;
      return { ...verdict, change: wiped('ImagingFailed', verdict.failure.message) };
    }
    case 'Releasing failed':
    case 'Failed disk erasing':
      if (countOf(context, 'released') === 0) break;
      return failed('retryable', 'RELEASE_FAILED', `${says}: ${seen.statusMessage}`);
    default:
      break;
  }
  const next = NEXT[seen.status];
  if (next === undefined) return stranger(`${says}: ${seen.statusMessage}`);
  return context.memo.lastAct === actFor(context, next) ? ABSENT : { seen: 'absent', next: true };
}

function stranger(message: string): Seen {
  return needsHuman('UNEXPECTED_MAAS_STATE', message);
}

/** One that follows another need not be spaced as a repetition is. */
function actFor(context: StepContext, next: Next): string {
  return `${next} ${countOf(context, 'deployed')}`;
}

async function release(
  environment: MaasStepEnvironment,
  context: StepContext,
  seen: MaasMachine,
): Promise<Acted> {
  const { machine, capabilities, controlPlane } = environment;
  const call = callOf(context, machine);
  await markRelease(known(environment, seen), context, call);
  const comment = `reimage ${context.jobId}`;
  call.log(`Releasing ${seen.systemId}, which is ${seen.status}; its disks are not to be erased`);
  const wish = { erase: false, secureErase: false, quickErase: false, comment };
  await context.effect(() => capabilities.maas.release(call, seen.systemId, wish));
  // What ran on it is gone, and must not count as alive until its time to live is over.
  await context.effect(() => controlPlane.nodeServices.forgetSecrets(call));
  await countOne(context, 'released');
  return { ...started('MAAS releases the machine'), change: gone(environment, context, seen) };
}

async function deploy(
  environment: MaasStepEnvironment,
  context: StepContext,
  seen: MaasMachine,
  wanted: MaasImage & { readonly pool: string; readonly asked: string },
): Promise<Acted> {
  const call = callOf(context, environment.machine);
  if (madeIn(context).released) {
    const { text } = await reportErasing(known(environment, seen), context, { call, wanted: 'keep' });
    call.log(`MAAS says ${seen.status}: ${text}`);
  }
  await rememberMaking(context, 'image', imageText(wanted));
  // Also where whoever released it died right after that.
  await context.effect(() => environment.controlPlane.nodeServices.forgetSecrets(call));
  call.log(`Deploying ${imageText(wanted)} on ${seen.systemId}`);
  const result = await deployMachine(environment, context, { ...wanted, systemId: seen.systemId });
  await countOne(context, 'deployed');
  return { ...result, change: gone(environment, context, seen) };
}

function gone({ machine }: MaasStepEnvironment, context: StepContext, seen: MaasMachine): MachineChange {
  const observed = observedIn(machine.spec.provider, seen, machine, context.now());
  return { ...observed, ...wiped('Imaging', 'its disk is being written') };
}

/** Each word of MAAS once, however often it is asked. */
async function logNews(context: StepContext, { status, statusMessage }: MaasMachine): Promise<void> {
  const news = statusMessage === '' ? status : `${status}: ${statusMessage}`;
  if (context.memo.news === news) return;
  context.log(`MAAS says ${news}`);
  await context.save({ ...context.memo, news });
}

/** The machine with its id in MAAS, which one that was never onboarded does not have yet. */
function known(
  environment: MaasStepEnvironment,
  { systemId, status, power }: MaasMachine,
): MaasStepEnvironment {
  const { machine } = environment;
  const source = machine.spec.provider;
  const at = machine.observed?.at ?? new Date(0).toISOString();
  const observed = { source, state: status, power, at, upstreamId: systemId };
  return { ...environment, machine: { ...machine, observed } };
}
