/** Stages that give a machine back to its upstream, and remove it from there. */
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepContext } from '../../engine/step-handler.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import type { UpstreamMachine, UpstreamState } from '../../providers/upstream.ts';
import { callOf } from '../step-kind.ts';
import { erasureProgress, erasureReport, markRelease } from '../upstream/release-erasure.ts';
import { isLeaving, observeRelease, unblockRelease } from '../upstream/release-progress.ts';
import {
  observedAs,
  readUpstream,
  saysOf,
  type UpstreamEnvironment,
  unexpected,
  upstreamIdOf,
  waitForUpstream,
} from '../upstream/upstream-environment.ts';
import { countOf, countOne } from './stage-memo.ts';
import { ABSENT, type Acted, done, failed, type Seen, type StageHandler, started } from './stage-result.ts';
import type { Stage, UpstreamStage } from './upstream-stages.ts';

/** Nothing is deployed there, so that there is nothing to release. */
const IDLE: readonly UpstreamState[] = ['ready', 'new', 'out_of_use', 'commissioning_failed'];
const BUSY: readonly UpstreamState[] = ['commissioning', 'testing'];
/** A power off that fails puts a machine back to where it was. */
const MAX_RELEASES = 3;

export const RELEASING_STAGES = {
  release_maas_node: (environment, { erase }) => ({
    observe: (context) => observeLeaving(environment, context, erase ? 'erase' : 'keep'),
    act: (context) => moveRelease(environment, context, erase ? 'erase' : 'keep'),
  }),

  power_off_maas_node: (environment) => powerOff(environment),

  remove_maas_record: (environment) => {
    const { machine, capabilities } = environment;
    const { upstream } = capabilities;
    return {
      async observe(context) {
        const call = callOf(context, machine);
        const seen = await readUpstream(environment, call);
        if (seen === null)
          return done(
            `${upstream.product} has no record of it`,
            observedAs(environment, null, context.now()),
          );
        await upstream.checkOwnership(call, seen);
        return ABSENT;
      },
      async act(context) {
        await context.effect(() => upstream.remove(callOf(context, machine), upstreamIdOf(environment)));
        return started('waiting for the record to be gone');
      },
    };
  },
} as const satisfies Partial<Record<UpstreamStage, Stage>>;

async function observeLeaving(
  environment: UpstreamEnvironment,
  context: StepContext,
  disks: 'erase' | 'keep',
): Promise<Seen> {
  const { upstream } = environment.capabilities;
  const call = callOf(context, environment.machine);
  const seen = await readUpstream(environment, call);
  if (seen === null) {
    const text = `${upstream.product} has no such machine: whether its disks were erased is not known`;
    return done(text, { ...observedAs(environment, null, context.now()), ...emptied(text) });
  }
  const isUndeployed = seen.state === 'testing_failed' && seen.image === null;
  if (IDLE.includes(seen.state) || isUndeployed) return released(environment, context, { call, seen, disks });
  if (BUSY.includes(seen.state)) return waitForUpstream(environment, context, seen);
  if (isLeaving(seen)) return observeRelease(environment, context, { call, seen });
  if (seen.state === 'unknown') return unexpected(environment, seen);
  if (seen.state === 'release_failed' && countOf(context, 'released') > 0) {
    // Erased disks need no second erasure: what failed is the power off after it.
    if (!(await erasureProgress(environment, context, call)).isErased)
      return failed('retryable', 'RELEASE_FAILED', `${saysOf(environment, seen)}: ${seen.statusMessage}`);
  }
  await upstream.checkOwnership(call, seen);
  if (countOf(context, 'released') >= MAX_RELEASES) {
    const message = `${upstream.product} goes back to ${seen.status} each time: ${seen.statusMessage}`;
    return failed('retryable', 'RELEASE_FAILED', message);
  }
  return context.memo.actedAt === seen.status ? ABSENT : { seen: 'absent', next: true };
}

async function moveRelease(
  environment: UpstreamEnvironment,
  context: StepContext,
  disks: 'erase' | 'keep',
): Promise<Acted> {
  const { upstream } = environment.capabilities;
  const call = callOf(context, environment.machine);
  const seen = await readUpstream(environment, call);
  if (seen === null) return started('looking for the machine again');
  await context.save({ ...context.memo, actedAt: seen.status });
  if (seen.state === 'testing_failed') {
    await context.effect(() => upstream.acceptFailedTests(call, seen.id, 'decommission'));
    return started(`its failed tests are overridden, so that ${upstream.product} can release it`);
  }
  // Nothing is stopped that was not seen to be stuck.
  if (isLeaving(seen))
    return context.memo.hung === seen.status
      ? unblockRelease(environment, context, { call, seen })
      : started(saysOf(environment, seen));
  if (BUSY.includes(seen.state) || IDLE.includes(seen.state)) return started(saysOf(environment, seen));
  return release(environment, context, { call, disks });
}

/** Nothing of ours is on its disks. */
function emptied(text: string): MachineChange {
  const message = `it was given back to its upstream; ${text}`;
  return { conditions: [{ type: 'Provisioned', status: false, reason: 'Released', message }] };
}

/** Says what became of the disks, in the result, the log and the machine's condition. */
async function released(
  environment: UpstreamEnvironment,
  context: StepContext,
  { call, seen, disks }: { call: ProviderCall; seen: UpstreamMachine; disks: 'erase' | 'keep' },
): Promise<Seen> {
  const { text, isMissing } = await erasureReport(environment, context, { call, wanted: disks });
  const running = seen.isPowerManual ? '; what ran on it may still run: people switch its power' : '';
  const report = `${text}${running}`;
  const says = saysOf(environment, seen);
  context.log(`${says}: ${report}`, isMissing ? 'stderr' : 'stdout');
  const change = { ...observedAs(environment, seen, context.now()), ...emptied(report) };
  return done(`${says}; ${report}`, change);
}

async function release(
  environment: UpstreamEnvironment,
  context: StepContext,
  { call, disks }: { call: ProviderCall; disks: 'erase' | 'keep' },
): Promise<Acted> {
  const { capabilities, controlPlane } = environment;
  const { upstream } = capabilities;
  await markRelease(environment, context, call);
  const isErased = disks === 'erase' && (await erasureProgress(environment, context, call)).isErased;
  // What runs on it will be gone, and must not count as alive until its time to live is over. Before the release,
  // so that a replica that takes over after a crash does both.
  await context.effect(() => controlPlane.nodeServices.forgetSecrets(call));
  await context.effect(() =>
    upstream.release(call, upstreamIdOf(environment), {
      disks: isErased ? 'keep' : disks,
      comment: 'decommission',
    }),
  );
  await countOne(context, 'released');
  return started(`${upstream.product} releases the machine`);
}

function powerOff(environment: UpstreamEnvironment): StageHandler {
  const { machine, capabilities } = environment;
  const { upstream } = capabilities;
  return {
    async observe(context) {
      const call = callOf(context, machine);
      const seen = await readUpstream(environment, call);
      if (seen === null) return done(`${upstream.product} has no such machine`);
      if (seen.power === 'off') return done('the power is off');
      if (seen.isPowerManual)
        return done(askOperator(context, `people switch its power (${seen.powerType || 'no power type'})`));
      // Some power types can be switched, and not read.
      const isUnreadable = seen.power === 'unknown' && countOf(context, 'sent') > 0;
      if (isUnreadable && (await upstream.queryPower(call, seen.id)) === 'unknown') {
        const why = `it was sent the request to switch off, and ${upstream.product} can't observe whether it did (${seen.powerType})`;
        return done(askOperator(context, why));
      }
      // Released, it may be another user's by now.
      await upstream.checkOwnership(call, seen);
      return ABSENT;
    },
    async act(context) {
      await context.effect(() => upstream.powerOff(callOf(context, machine), upstreamIdOf(environment)));
      await countOne(context, 'sent');
      return started('waiting for the power to be off');
    },
  };
}

function askOperator(context: StepContext, why: string): string {
  const text = `${why}; switch it off by hand`;
  context.log(text, 'stderr');
  return text;
}
