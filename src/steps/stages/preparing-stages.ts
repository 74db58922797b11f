/** Stages that bring a machine to where its upstream can deploy it. */

import type { StepContext } from '../../engine/step-handler.ts';
import type { UpstreamMachine, UpstreamState } from '../../providers/upstream.ts';
import { callOf } from '../step-kind.ts';
import { undoCommissioning, undoRecord } from '../upstream/undo-onboarding.ts';
import {
  observedAs,
  observeUpstream,
  readUpstream,
  saysOf,
  type UpstreamEnvironment,
  unexpected,
  upstreamIdOf,
  waitForUpstream,
} from '../upstream/upstream-environment.ts';
import { hooked } from './site-hook.ts';
import { countOf, countOne, createdIn, creating, rememberCreated } from './stage-memo.ts';
import {
  ABSENT,
  type Acted,
  done,
  failed,
  needsHuman,
  observeOnly,
  type Seen,
  type StageHandler,
  started,
  UNOBSERVABLE,
} from './stage-result.ts';
import type { Stage, UpstreamStage } from './upstream-stages.ts';

/** Ready, or further: then another user has configured it. */
const READY: readonly UpstreamState[] = ['ready', 'reserved', 'deploying', 'deployed'];
const ON_THE_WAY: readonly UpstreamState[] = ['commissioning', 'testing', 'releasing', 'erasing'];
const MAX_ADDRESS_ATTEMPTS = 3;
const MAX_COMMISSIONS = 2;
/** How often a record is given the settings that it lacks. */
const MAX_SETTINGS_ATTEMPTS = 3;

export const PREPARING_STAGES = {
  load_site_config: ({ capabilities }) =>
    observeOnly(async () => done(`deploys ${capabilities.upstream.site.deploys}`)),

  resolve_power_credentials: ({ machine, capabilities }) =>
    observeOnly(async ({ signal }) =>
      done(`${await capabilities.upstream.site.checkPower(machine, signal)}; the credentials can be read`),
    ),

  create_or_find_in_maas: (environment) => ({
    observe: (context) => observeRecord(environment, context),
    async act(context) {
      const { machine, capabilities } = environment;
      const { upstream } = capabilities;
      const call = callOf(context, machine);
      const [found] = await upstream.find(call);
      const missing = found ? await upstream.missingSettings(call, found) : null;
      if (found && !missing) return started(`${upstream.product} has the machine`);
      if (found && missing) {
        await context.effect(() => upstream.applySettings(call, found));
        await countOne(context, 'given');
        return started(`waiting for ${upstream.product} to have ${missing.words.join(', ')}`);
      }
      const id = await creating(context, 'record', () => upstream.register(call));
      await rememberCreated(context, 'record', id);
      return started(`waiting for ${upstream.product} to know the machine`);
    },
    undo: (context) => undoRecord(environment, context),
  }),

  commission_node: (environment) => ({
    observe: (context) =>
      observeUpstream(environment, context, (seen) => {
        if (seen.state === 'new') return ABSENT;
        if (seen.state === 'commissioning_failed') {
          return countOf(context, 'commissioned') > 0
            ? failed('retryable', 'COMMISSIONING_FAILED', seen.statusMessage || 'commissioning failed')
            : ABSENT;
        }
        if (seen.state === 'broken')
          return needsHuman('BROKEN', saying(environment, seen.statusMessage || 'broken'));
        return done(saysOf(environment, seen));
      }),
    async act(context) {
      await commission(environment, context);
      return started('commissioning begins');
    },
    undo: (context) => undoCommissioning(environment, context),
  }),

  wait_for_ready: (environment) => ({
    observe: (context) =>
      observeUpstream(environment, context, (seen) => {
        if (READY.includes(seen.state)) return done(saysOf(environment, seen));
        if (ON_THE_WAY.includes(seen.state)) return waitForUpstream(environment, context, seen);
        if (seen.state === 'testing_failed') return whereTestsFailed(environment, context, seen);
        if (seen.state === 'deployment_failed') return done('to be recovered later');
        // Commissioning that failed may pass when it is tried again; the stage before does not run again by itself.
        if (seen.state === 'new') return ABSENT;
        if (seen.state === 'commissioning_failed') {
          // A commissioning that started and failed is observed; to commission again is another act.
          const isStarted = context.memo.tried !== countOf(context, 'commissioned');
          return isStarted ? { seen: 'absent', next: true } : ABSENT;
        }
        return unexpected(environment, seen);
      }),
    act: (context) => prepareAgain(environment, context),
    undo: (context) => undoCommissioning(environment, context),
  }),

  configure_storage: (environment) => configureStorage(environment),

  apply_roce_phase2: (environment) => hooked(environment, 'apply_roce_phase2'),

  ensure_pxe_interface_auto: (environment) => assignAddress(environment),
} as const satisfies Partial<Record<UpstreamStage, Stage>>;

function saying({ capabilities: { upstream } }: UpstreamEnvironment, message: string): string {
  return `${upstream.product} says: ${message}`;
}

async function observeRecord(environment: UpstreamEnvironment, context: StepContext): Promise<Seen> {
  const { machine, capabilities } = environment;
  const { upstream } = capabilities;
  if (machine.spec.mac_addresses.length === 0)
    return needsHuman('NO_MAC_ADDRESS', 'spec.mac_addresses is empty');
  const call = callOf(context, machine);
  const candidates = await upstream.find(call);
  if (candidates.length > 1) {
    const list = candidates.map(({ id }) => id).join(', ');
    const message = `several machines in ${upstream.product} have its addresses: ${list}`;
    return needsHuman('CONFLICTING_CANDIDATES', message);
  }
  const [found] = candidates;
  if (!found) return ABSENT;
  const missing = await upstream.missingSettings(call, found);
  if (missing && countOf(context, 'given') < MAX_SETTINGS_ATTEMPTS) return { seen: 'absent', next: true };
  if (missing) {
    const message = `${upstream.product} does not keep ${missing.words.join(', ')}`;
    return failed('needs_human', 'MAAS_REFUSED', message);
  }
  const change = observedAs(environment, found, context.now());
  return done(`${found.id} (${found.hostname}), ${found.status}`, change);
}

/** Only an operator, the site or the machine's label may judge a test that failed: the operator by having the stage tried again. */
async function whereTestsFailed(
  environment: UpstreamEnvironment,
  context: StepContext,
  seen: UpstreamMachine,
): Promise<Seen> {
  const { testsFailedIn: round } = createdIn(context);
  const isJudged = typeof round === 'number' && context.round > round;
  const isAccepted = environment.capabilities.upstream.site.acceptsFailedTests(environment.machine);
  if (isAccepted || isJudged) return { seen: 'absent', next: true };
  await rememberCreated(context, 'testsFailedIn', context.round);
  return needsHuman('FAILED_TESTING', saying(environment, seen.statusMessage || 'tests failed'));
}

async function prepareAgain(environment: UpstreamEnvironment, context: StepContext): Promise<Acted> {
  const { upstream } = environment.capabilities;
  const call = callOf(context, environment.machine);
  const seen = await readUpstream(environment, call);
  if (seen?.state === 'testing_failed') {
    context.log(
      `Overriding the failed tests in ${upstream.product}, as the site, the machine's label or an operator says`,
    );
    await context.effect(() => upstream.acceptFailedTests(call, seen.id, 'onboarding'));
    return started('the failed tests are overridden');
  }
  if (countOf(context, 'commissioned') >= MAX_COMMISSIONS) {
    const message = 'commissioning failed again and again';
    return {
      result: 'failed',
      failure: { class: 'retryable', code: 'COMMISSIONING_FAILED', message },
    };
  }
  await context.save({ ...context.memo, tried: countOf(context, 'commissioned') });
  await commission(environment, context);
  return started('commissioning begins again');
}

async function commission(environment: UpstreamEnvironment, context: StepContext): Promise<void> {
  const { machine, capabilities } = environment;
  const call = callOf(context, machine);
  await creating(context, 'commissioning', () =>
    capabilities.upstream.commission(call, upstreamIdOf(environment)),
  );
  await countOne(context, 'commissioned');
}

function configureStorage(environment: UpstreamEnvironment): StageHandler {
  const { upstream } = environment.capabilities;
  return {
    observe: (context) =>
      observeUpstream(environment, context, async (seen, call) => {
        if (seen.state !== 'ready')
          return done(`${saysOf(environment, seen)}: storage is as it was deployed`);
        const plan = await upstream.planStorage(call, seen);
        if ('problem' in plan) return needsHuman('BOOT_DISK_NOT_FOUND', plan.problem);
        if (!plan.isBootDisk) return ABSENT;
        // The upstream shows the boot disk; that the layout is ours only this stage can know.
        return context.memo.laidOut === plan.disk.id ? done(`boots from ${plan.disk.name}`) : UNOBSERVABLE;
      }),
    async act(context) {
      const call = callOf(context, environment.machine);
      const seen = await readUpstream(environment, call);
      const plan = seen && (await upstream.planStorage(call, seen));
      if (!plan || 'problem' in plan) return started('looking for the boot disk again');
      await context.effect(() => upstream.applyStorage(call, upstreamIdOf(environment), plan.disk.id));
      await context.save({ laidOut: plan.disk.id });
      return started('waiting for the boot disk to be set');
    },
  };
}

function assignAddress(environment: UpstreamEnvironment): StageHandler {
  const { upstream } = environment.capabilities;
  return {
    observe: (context) =>
      observeUpstream(environment, context, (seen) => {
        const { addressInterface: nic } = seen;
        if (nic?.isAutomatic) return done(`${nic.name} is AUTO`);
        if (seen.state !== 'ready')
          return done(`${saysOf(environment, seen)}: interfaces are as they were deployed`);
        if (nic === null) return needsHuman('PXE_NOT_FIXABLE', `${upstream.product} knows no boot interface`);
        if (countOf(context, 'linked') < MAX_ADDRESS_ATTEMPTS) return ABSENT;
        const mode = nic.addressMode ?? 'without a link';
        return needsHuman('PXE_NOT_FIXABLE', `${nic.name} stays ${mode}, however often it is set`);
      }),
    async act(context) {
      const call = callOf(context, environment.machine);
      const seen = await readUpstream(environment, call);
      if (!seen?.addressInterface) return started('looking for the boot interface again');
      await context.effect(() => upstream.assignAddress(call, seen));
      await countOne(context, 'linked');
      return started(`waiting for ${seen.addressInterface.name} to be AUTO`);
    },
  };
}
