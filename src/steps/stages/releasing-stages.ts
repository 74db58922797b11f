/** Stages that give a machine back to MAAS, and take it out of there. */
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepContext } from '../../engine/step-handler.ts';
import type { MaasMachine } from '../../providers/maas/maas-control.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import { callOf } from '../step-kind.ts';
import { markRelease, reportErasing, sightErasing } from '../upstream/release-erasure.ts';
import { endHung, isLeaving, whileLeaving } from '../upstream/release-progress.ts';
import {
  idOf,
  isSwitchedByHand,
  type MaasStage,
  type MaasStepEnvironment,
  type Stage,
  underWayIn,
} from '../upstream/upstream-environment.ts';
import {
  ABSENT,
  type Acted,
  countOf,
  countOne,
  done,
  failed,
  needsHuman,
  observedIn,
  type Seen,
  started,
} from './stage-handling.ts';

/** Nothing of ours is on its disks. */
function emptied(text: string): MachineChange {
  const message = `it was given back to its upstream; ${text}`;
  return { conditions: [{ type: 'Provisioned', status: false, reason: 'Released', message }] };
}

/** Nothing is deployed there, so that there is nothing to release. */
const IDLE: readonly string[] = ['Ready', 'New', 'Retired', 'Missing', 'Failed commissioning'];
const AT_WORK: readonly string[] = ['Commissioning', 'Testing'];
/** A power off that fails puts a machine back to where it was. */
const MAX_RELEASES = 3;
const NOT_RELEASED: readonly string[] = ['Releasing failed', 'Failed disk erasing'];

export const RELEASING_STAGES = {
  release_maas_node: (environment, { erase }) => ({
    async observe(context) {
      const call = callOf(context, environment.machine);
      const seen = await readIn(environment, call);
      if (seen === null) {
        const text = 'MAAS has no such machine: whether its disks were erased, nobody can say';
        return done(text, { ...observed(environment, context, null), ...emptied(text) });
      }
      const isUndeployed = seen.status === 'Failed testing' && seen.image.osystem === '';
      if (IDLE.includes(seen.status) || isUndeployed)
        return released(environment, context, { call, seen, erase });
      if (AT_WORK.includes(seen.status)) return underWayIn(context, seen);
      if (isLeaving(seen)) return whileLeaving(environment, context, { call, seen });
      if (seen.status === 'Unknown')
        return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      if (NOT_RELEASED.includes(seen.status) && countOf(context, 'released') > 0) {
        // What is erased needs no second time: what failed is the power off after it.
        if (!(await sightErasing(environment, context, call)).isErased)
          return failed('retryable', 'RELEASE_FAILED', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }
      await environment.capabilities.maas.checkOurs(call, seen);
      if (countOf(context, 'released') >= MAX_RELEASES)
        return failed(
          'retryable',
          'RELEASE_FAILED',
          `MAAS goes back to ${seen.status} each time: ${seen.statusMessage}`,
        );
      return context.memo.actedAt === seen.status ? ABSENT : { seen: 'absent', next: true };
    },
    async act(context) {
      const { capabilities, machine } = environment;
      const call = callOf(context, machine);
      const seen = await readIn(environment, call);
      if (seen === null) return started('looking for the machine again');
      await context.save({ ...context.memo, actedAt: seen.status });
      if (seen.status === 'Failed testing') {
        await context.effect(() =>
          capabilities.maas.overrideFailedTesting(call, seen.systemId, 'decommission'),
        );
        return started('its failed tests are overridden, so that MAAS can release it');
      }
      // Nothing is stopped that was not seen to hang.
      if (isLeaving(seen))
        return context.memo.hung === seen.status
          ? endHung(environment, context, { call, seen })
          : started(`MAAS says ${seen.status}`);
      if (AT_WORK.includes(seen.status) || IDLE.includes(seen.status))
        return started(`MAAS says ${seen.status}`);
      return release(environment, context, { call, erase });
    },
  }),

  power_off_maas_node: (environment) => ({
    async observe(context) {
      const call = callOf(context, environment.machine);
      const seen = await readIn(environment, call);
      if (seen === null) return done('MAAS has no such machine');
      if (seen.power === 'off') return done('the power is off');
      if (isSwitchedByHand(seen))
        return done(byHand(context, `people switch its power (${seen.powerType || 'no power type'})`));
      // Some power types can be switched, and not asked.
      const isBlind = seen.power === 'unknown' && countOf(context, 'sent') > 0;
      if (isBlind && (await environment.capabilities.maas.queryPower(call, seen.systemId)) === 'unknown')
        return done(
          byHand(
            context,
            `it was told to switch off, and MAAS can’t tell whether it did (${seen.powerType})`,
          ),
        );
      // Released, it may be another user's by now.
      await environment.capabilities.maas.checkOurs(call, seen);
      return ABSENT;
    },
    async act(context) {
      await context.effect(() =>
        environment.capabilities.maas.powerOff(callOf(context, environment.machine), idOf(environment)),
      );
      await countOne(context, 'sent');
      return started('waiting for the power to be off');
    },
  }),

  remove_maas_record: (environment) => ({
    async observe(context) {
      const call = callOf(context, environment.machine);
      const seen = await readIn(environment, call);
      if (seen === null) return done('MAAS has no record of it', observed(environment, context, null));
      await environment.capabilities.maas.checkOurs(call, seen);
      return ABSENT;
    },
    async act(context) {
      await context.effect(() =>
        environment.capabilities.maas.remove(callOf(context, environment.machine), idOf(environment)),
      );
      return started('waiting for the record to be gone');
    },
  }),
} as const satisfies Partial<Record<MaasStage, Stage>>;

function readIn(environment: MaasStepEnvironment, call: ProviderCall): Promise<MaasMachine | null> {
  const systemId = idOf(environment);
  return systemId === '' ? Promise.resolve(null) : environment.capabilities.maas.read(call, systemId);
}

function observed(
  { machine }: MaasStepEnvironment,
  context: StepContext,
  seen: MaasMachine | null,
): MachineChange {
  return observedIn(machine.spec.provider, seen, machine, context.now());
}

/** Says what became of the disks, where the result, the log and the event of the machine can be read. */
async function released(
  environment: MaasStepEnvironment,
  context: StepContext,
  { call, seen, erase }: { call: ProviderCall; seen: MaasMachine; erase: boolean },
): Promise<Seen> {
  const { text, isMissing } = await reportErasing(environment, context, {
    call,
    wanted: erase ? 'erase' : 'keep',
  });
  const running = isSwitchedByHand(seen) ? '; what ran on it may still run: people switch its power' : '';
  const report = `${text}${running}`;
  context.log(`MAAS says ${seen.status}: ${report}`, isMissing ? 'stderr' : 'stdout');
  return done(`MAAS says ${seen.status}; ${report}`, {
    ...observed(environment, context, seen),
    ...emptied(report),
  });
}

async function release(
  environment: MaasStepEnvironment,
  context: StepContext,
  { call, erase }: { call: ProviderCall; erase: boolean },
): Promise<Acted> {
  const { capabilities, controlPlane } = environment;
  await markRelease(environment, context, call);
  const again = erase && !(await sightErasing(environment, context, call)).isErased;
  const wanted = { erase: again, secureErase: again, quickErase: false, comment: 'decommission' };
  // What runs on it will be gone, and must not count as alive until its time to live is over. Before the release,
  // so that whoever takes over after a death does both.
  await context.effect(() => controlPlane.nodeServices.forgetSecrets(call));
  await context.effect(() => capabilities.maas.release(call, idOf(environment), wanted));
  await countOne(context, 'released');
  return started('MAAS releases the machine');
}

function byHand(context: StepContext, why: string): string {
  const text = `${why}; switch it off by hand`;
  context.log(text, 'stderr');
  return text;
}
