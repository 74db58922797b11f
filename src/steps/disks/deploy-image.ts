/**
 * An image for a machine of an upstream. There that is a deployment, and a machine that is in use has to be released first;
 * so there are two acts, release and deploy, each started where the upstream's state says that it is next, and observed by the
 * state that follows.
 *
 * Whether a machine that is deployed is so by us, or still as it was found, the upstream does not say. What this operation
 * starts is saved before it does so: a deployment is ours once we requested it, which we do only after the old one was seen
 * gone, and if it has the image that we asked for. Nothing is released before the upstream was asked for the image.
 *
 * A release is asked not to erase: the deployment writes a new partition table over the disks of its layout, and others keep
 * what is on them. A site may have them erased all the same, so what the upstream did is read and logged.
 */
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepContext, StepHandler } from '../../engine/step-handler.ts';
import type { DeployedImages } from '../../providers/provider.ts';
import type { UpstreamMachine, UpstreamState } from '../../providers/upstream.ts';
import { countOf, countOne, createdIn, rememberCreated } from '../stages/stage-memo.ts';
import {
  ABSENT,
  type Acted,
  failed,
  needsHuman,
  type Seen,
  started,
  underWay,
} from '../stages/stage-result.ts';
import { callOf, undoCallOf } from '../step-kind.ts';
import {
  classifyFailure,
  datasourceFailed,
  deployMachine,
  MAX_DATASOURCE_RETRIES,
} from '../upstream/deployment.ts';
import { erasureReport, markRelease } from '../upstream/release-erasure.ts';
import { isLeaving, observeRelease, unblockRelease } from '../upstream/release-progress.ts';
import { takeBack } from '../upstream/undo-onboarding.ts';
import { observedAs, saysOf, type UpstreamEnvironment } from '../upstream/upstream-environment.ts';
import { wiped, written } from './image-conditions.ts';

export interface ImageDeployment {
  readonly image: string;
  /** The pool of the machine's agent; empty: it has no agent, and gets none. */
  readonly pool: string;
}

type Next = 'release' | 'deploy';

/** What has to happen to a machine so that it gets its image. In any other state it is waited for, or needs a human. */
const NEXT: Readonly<Partial<Record<UpstreamState, Next>>> = {
  ready: 'deploy',
  reserved: 'deploy',
  deployed: 'release',
  deployment_failed: 'release',
  release_failed: 'release',
};

export function deployImage(
  { image, pool }: ImageDeployment,
  environment: UpstreamEnvironment,
  images: DeployedImages,
): StepHandler<MachineChange> {
  const { upstream } = environment.capabilities;
  return {
    async observe(context) {
      const seen = await upstream.findOnly(callOf(context, environment.machine));
      const verdict = await verdictOn(environment, context, seen, image);
      if (verdict.seen !== 'done' && verdict.seen !== 'failed') {
        if (verdict.seen === 'under_way') await logNews(environment, context, seen);
        return verdict;
      }
      return { ...verdict, change: { ...verdict.change, ...observedAs(environment, seen, context.now()) } };
    },

    async act(context) {
      const call = callOf(context, environment.machine);
      const seen = await upstream.findOnly(call);
      const name = await images.find(call, seen, image);
      const next = NEXT[seen.state];
      // It is stuck, or has moved on since it was observed.
      if (isLeaving(seen) && context.memo.hung === seen.status)
        return unblockRelease(environment, context, { call, seen });
      if (next === undefined) return started(saysOf(environment, seen));
      // Before anything of it is touched: another user may have it, with an agent of ours on it.
      await upstream.checkOwnership(call, seen);
      await context.save({ ...context.memo, lastAct: actFor(context, next) });
      return next === 'release'
        ? release(environment, context, seen)
        : deploy(environment, context, seen, { name, asked: image, pool });
    },

    async undo(context) {
      const { released: isReleased, deployment, image: asked } = createdIn(context);
      if (!isReleased && !deployment) return { result: 'done', message: 'nothing was released or deployed' };
      const seen = await upstream.findOnly(undoCallOf(context, environment.machine));
      if (seen.state === 'deployed' && !deployment) {
        return { result: 'done', message: 'the machine was not released: it stays as it is' };
      }
      if (seen.state === 'deployed' && seen.runsImage(String(asked)))
        return { result: 'done', message: `${image} stays: it was deployed completely` };
      const message = `deploying ${image} was stopped; the machine has no system, and is given back to ${upstream.product}`;
      const undone = await takeBack(withUpstreamId(environment, seen), context);
      if (undone.result !== 'done') return undone;
      context.log(message, 'stderr');
      return { ...undone, message, change: { ...undone.change, ...wiped('ImagingCanceled', message) } };
    },
  };
}

async function verdictOn(
  environment: UpstreamEnvironment,
  context: StepContext,
  seen: UpstreamMachine,
  image: string,
): Promise<Seen> {
  const { deployment: isOurs, released: isReleased, image: asked } = createdIn(context);
  const says = saysOf(environment, seen);
  const call = callOf(context, environment.machine);
  switch (seen.state) {
    case 'deployed':
      if (!isOurs) break;
      if (seen.runsImage(String(asked))) {
        context.log(`${says}: ${asked}`);
        const message = `${image} was deployed`;
        return { seen: 'done', message, change: written(message) };
      }
      return notOurs(`${says}, with ${seen.image}: another user deployed it`);
    case 'deploying':
      return isOurs ? underWay(context, `deploying ${image}`) : notOurs(`${says}: another user deploys it`);
    case 'releasing':
    case 'erasing':
      // A release by another user is only waited for.
      if (!isReleased) return underWay(context, says);
      return observeRelease(withUpstreamId(environment, seen), context, { call, seen });
    case 'deployment_failed': {
      // It was found so, or an earlier attempt ended with it.
      if (countOf(context, 'deployed') === 0) break;
      const verdict =
        countOf(context, 'deployed') > MAX_DATASOURCE_RETRIES
          ? datasourceFailed(environment)
          : await classifyFailure(environment, call, seen);
      if (verdict.seen !== 'failed') break;
      return { ...verdict, change: wiped('ImagingFailed', verdict.failure.message) };
    }
    case 'release_failed':
      if (countOf(context, 'released') === 0) break;
      return failed('retryable', 'RELEASE_FAILED', `${says}: ${seen.statusMessage}`);
    default:
      break;
  }
  const next = NEXT[seen.state];
  if (next === undefined) return notOurs(`${says}: ${seen.statusMessage}`);
  return context.memo.lastAct === actFor(context, next) ? ABSENT : { seen: 'absent', next: true };
}

function notOurs(message: string): Seen {
  return needsHuman('UNEXPECTED_MAAS_STATE', message);
}

/** An act that follows another one is not a repetition, and need not be spaced. */
function actFor(context: StepContext, next: Next): string {
  return `${next} ${countOf(context, 'deployed')}`;
}

async function release(
  environment: UpstreamEnvironment,
  context: StepContext,
  seen: UpstreamMachine,
): Promise<Acted> {
  const { machine, capabilities, controlPlane } = environment;
  const { upstream } = capabilities;
  const call = callOf(context, machine);
  await markRelease(withUpstreamId(environment, seen), context, call);
  call.log(`Releasing ${seen.id}, which is ${seen.status}; its disks are not to be erased`);
  const wanted = { disks: 'keep', comment: `reimage ${context.operationId}` } as const;
  await context.effect(() => upstream.release(call, seen.id, wanted));
  // What ran on it is gone, and must not count as alive until its time to live is over.
  await context.effect(() => controlPlane.nodeServices.forgetSecrets(call));
  await countOne(context, 'released');
  return { ...started(`${upstream.product} releases the machine`), change: gone(environment, context, seen) };
}

async function deploy(
  environment: UpstreamEnvironment,
  context: StepContext,
  seen: UpstreamMachine,
  { name, asked, pool }: { readonly name: string; readonly asked: string; readonly pool: string },
): Promise<Acted> {
  const call = callOf(context, environment.machine);
  if (createdIn(context).released) {
    const known = withUpstreamId(environment, seen);
    const { text } = await erasureReport(known, context, { call, wanted: 'keep' });
    call.log(`${saysOf(environment, seen)}: ${text}`);
  }
  await rememberCreated(context, 'image', name);
  // Also where the process that released it died right after that.
  await context.effect(() => environment.controlPlane.nodeServices.forgetSecrets(call));
  call.log(`Deploying ${name} on ${seen.id}`);
  const result = await deployMachine(environment, context, { id: seen.id, pool, image: { name, asked } });
  await countOne(context, 'deployed');
  return { ...result, change: gone(environment, context, seen) };
}

function gone(environment: UpstreamEnvironment, context: StepContext, seen: UpstreamMachine): MachineChange {
  return {
    ...observedAs(environment, seen, context.now()),
    ...wiped('Imaging', 'its disk is being written'),
  };
}

/** Each message of the upstream once, however often it is polled. */
async function logNews(
  { capabilities: { upstream } }: UpstreamEnvironment,
  context: StepContext,
  { status, statusMessage }: UpstreamMachine,
): Promise<void> {
  const news = statusMessage === '' ? status : `${status}: ${statusMessage}`;
  if (context.memo.news === news) return;
  context.log(`${upstream.product} says ${news}`);
  await context.save({ ...context.memo, news });
}

/** The machine with its upstream's id, which one that was never onboarded does not have yet. */
function withUpstreamId(
  environment: UpstreamEnvironment,
  { id, status, power }: UpstreamMachine,
): UpstreamEnvironment {
  const { machine } = environment;
  const source = machine.spec.provider;
  const at = machine.observed?.at ?? new Date(0).toISOString();
  const observed = { source, state: status, power, at, upstreamId: id };
  return { ...environment, machine: { ...machine, observed } };
}
