/** Stages that bring a machine in MAAS to where it can be deployed. */

import type { StepContext } from '../../engine/step-handler.ts';
import type { MaasMachine } from '../../providers/maas/maas-control.ts';
import { callOf } from '../step-kind.ts';
import { hostnamesOf, isHostnameTaken } from '../upstream/hostname.ts';
import { give, lackingOf } from '../upstream/missing-settings.ts';
import { undoCommissioning, undoRecord } from '../upstream/undo-onboarding.ts';
import {
  idOf,
  inMaas,
  type MaasStage,
  type MaasStepEnvironment,
  type Stage,
  underWayIn,
} from '../upstream/upstream-environment.ts';
import { hooked } from './site-hook.ts';
import {
  ABSENT,
  countOf,
  countOne,
  done,
  failed,
  madeIn,
  making,
  needsHuman,
  observedIn,
  observeOnly,
  rememberMaking,
  type Seen,
  started,
  UNOBSERVABLE,
} from './stage-handling.ts';

/** Further than Ready: whoever brought it here has configured it. */
const BEYOND_READY: readonly string[] = ['Allocated', 'Reserved', 'Deploying', 'Deployed'];
const MAX_LINK_ATTEMPTS = 3;
const MAX_COMMISSIONS = 2;
/** How often a record is given what it lacks. */
const MAX_GIVEN = 3;

export const PREPARING_STAGES = {
  load_site_config: ({ capabilities }) =>
    observeOnly(async () => {
      const { deploy } = capabilities.maas.site;
      return done(`deploys ${deploy.osystem} ${deploy.distroSeries}`);
    }),

  resolve_power_credentials: (environment) =>
    observeOnly(async () => {
      const { powerType } = environment.capabilities.maas.site.resolvePower(environment.machine);
      return done(`power type ${powerType}; the credentials can be read`);
    }),

  create_or_find_in_maas: (environment) => ({
    async observe(context) {
      const { machine, capabilities } = environment;
      const call = callOf(context, machine);
      const { mac_addresses: macs } = machine.spec;
      if (macs.length === 0) return needsHuman('NO_MAC_ADDRESS', 'spec.mac_addresses is empty');
      const candidates = await capabilities.maas.findByMac(call, macs);
      const ids = [...new Set(candidates.map(({ systemId }) => systemId))];
      if (ids.length > 1) {
        const list = ids.join(', ');
        return needsHuman('CONFLICTING_CANDIDATES', `several machines in MAAS have its addresses: ${list}`);
      }
      const [found] = candidates;
      if (!found) return ABSENT;
      const lacking = lackingOf(environment, found);
      if (lacking && countOf(context, 'given') < MAX_GIVEN) return { seen: 'absent', next: true };
      if (lacking)
        return failed('needs_human', 'MAAS_REFUSED', `MAAS does not keep ${lacking.words.join(', ')}`);
      const change = observedIn(machine.spec.provider, found, machine, context.now());
      return done(`${found.systemId} (${found.hostname}), ${found.status}`, change);
    },
    async act(context) {
      const { machine, capabilities } = environment;
      const call = callOf(context, machine);
      const [found] = await capabilities.maas.findByMac(call, machine.spec.mac_addresses);
      const lacking = found ? lackingOf(environment, found) : null;
      if (found)
        return lacking ? give(environment, context, found, lacking) : started('MAAS has the machine');
      const { place, kernel } = capabilities.maas.site.optionsFor(machine);
      const wanted = {
        architecture: capabilities.maas.site.architecture,
        macAddresses: machine.spec.mac_addresses,
        ...capabilities.maas.site.resolvePower(machine),
        ...{ place, minHweKernel: kernel.minimum },
      };
      const [hostname, otherwise] = hostnamesOf(machine);
      const { systemId } = await making(context, 'record', async () => {
        try {
          return await capabilities.maas.create(call, { ...wanted, hostname });
        } catch (error) {
          if (!isHostnameTaken(error)) throw error;
          context.log(`MAAS has another machine that is called ${hostname}; adding this one as ${otherwise}`);
          return capabilities.maas.create(call, { ...wanted, hostname: otherwise });
        }
      });
      await rememberMaking(context, 'record', systemId);
      return started('waiting for MAAS to know the machine');
    },
    undo: (context) => undoRecord(environment, context),
  }),

  commission_node: (environment) => ({
    observe: (context) =>
      inMaas(environment, context, (seen) => {
        if (seen.status === 'New' || seen.status === 'Failed commissioning') {
          return countOf(context, 'commissioned') > 0 && seen.status === 'Failed commissioning'
            ? failed('retryable', 'COMMISSIONING_FAILED', seen.statusMessage || 'commissioning failed')
            : ABSENT;
        }
        if (seen.status === 'Broken')
          return needsHuman('BROKEN', `MAAS says: ${seen.statusMessage || 'broken'}`);
        return done(`MAAS says ${seen.status}`);
      }),
    async act(context) {
      await commission(environment, context);
      return started('commissioning begins');
    },
    undo: (context) => undoCommissioning(environment, context),
  }),

  wait_for_ready: (environment) => ({
    observe: (context) =>
      inMaas(environment, context, (seen) => {
        if (seen.status === 'Ready' || BEYOND_READY.includes(seen.status))
          return done(`MAAS says ${seen.status}`);
        if (['Commissioning', 'Testing', 'Releasing', 'Disk erasing'].includes(seen.status)) {
          return underWayIn(context, seen);
        }
        if (seen.status === 'Failed testing') return whereTestsFailed(environment, context, seen);
        if (seen.status === 'Failed deployment') return done('to be recovered later');
        // Commissioning that failed may pass when it is tried again; the stage before does not come back by itself.
        if (seen.status === 'New') return ABSENT;
        if (seen.status === 'Failed commissioning') {
          // One that MAAS took and that failed is seen; to commission again is another act.
          const isTaken = context.memo.tried !== countOf(context, 'commissioned');
          return isTaken ? { seen: 'absent', next: true } : ABSENT;
        }
        return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }),
    async act(context) {
      const call = callOf(context, environment.machine);
      if ((await environment.capabilities.maas.read(call, idOf(environment)))?.status === 'Failed testing') {
        context.log(
          'Overriding the failed tests in MAAS, as the site, the machine’s label or an operator says',
        );
        await context.effect(() =>
          environment.capabilities.maas.overrideFailedTesting(call, idOf(environment), 'onboarding'),
        );
        return started('the failed tests are overridden');
      }
      if (countOf(context, 'commissioned') >= MAX_COMMISSIONS) {
        return {
          result: 'failed',
          failure: {
            class: 'retryable',
            code: 'COMMISSIONING_FAILED',
            message: 'commissioning failed again and again',
          },
        };
      }
      await context.save({ ...context.memo, tried: countOf(context, 'commissioned') });
      await commission(environment, context);
      return started('commissioning begins again');
    },
    undo: (context) => undoCommissioning(environment, context),
  }),

  configure_storage: (environment) => ({
    observe: (context) =>
      inMaas(environment, context, async (seen, call) => {
        if (seen.status !== 'Ready') return done(`MAAS says ${seen.status}: storage is as it was deployed`);
        const { bootDiskModel } = environment.capabilities.maas.site;
        const disks = await environment.capabilities.maas.disks(call, seen.systemId);
        const wanted = disks.find((disk) => environment.capabilities.maas.site.isBootDisk(disk));
        if (!wanted) {
          const models = disks.map(({ name, model }) => `${name} ${model}`.trim()).join(', ');
          return needsHuman(
            'BOOT_DISK_NOT_FOUND',
            `no disk is a ${bootDiskModel}; there are ${models || 'none'}`,
          );
        }
        if (seen.bootDiskId !== wanted.id) return ABSENT;
        // MAAS shows the boot disk; that the layout is ours only this stage can know.
        return context.memo.laidOut === wanted.id ? done(`boots from ${wanted.name}`) : UNOBSERVABLE;
      }),
    async act(context) {
      const call = callOf(context, environment.machine);
      const disks = await environment.capabilities.maas.disks(call, idOf(environment));
      const wanted = disks.find((disk) => environment.capabilities.maas.site.isBootDisk(disk));
      if (!wanted) return started('looking for the boot disk again');
      await context.effect(() =>
        environment.capabilities.maas.setBootDisk(call, idOf(environment), wanted.id),
      );
      await context.effect(() =>
        environment.capabilities.maas.setFlatLayout(call, idOf(environment), wanted.id),
      );
      await context.save({ laidOut: wanted.id });
      return started('waiting for the boot disk to be set');
    },
  }),

  apply_roce_phase2: (environment) => hooked(environment, 'apply_roce_phase2'),

  ensure_pxe_interface_auto: (environment) => ({
    observe: (context) =>
      inMaas(environment, context, (seen) => {
        const { bootInterface: boot, addressInterface: nic } = seen;
        // The address is a bond's where the boot interface is part of one.
        const name =
          nic && boot && nic.id !== boot.id ? `${nic.name} (with ${boot.name})` : (nic?.name ?? '');
        if (nic?.linkMode?.toLowerCase() === 'auto') return done(`${name} is AUTO`);
        if (seen.status !== 'Ready')
          return done(`MAAS says ${seen.status}: interfaces are as they were deployed`);
        if (nic === null) return needsHuman('PXE_NOT_FIXABLE', 'MAAS knows no boot interface');
        if (countOf(context, 'linked') < MAX_LINK_ATTEMPTS) return ABSENT;
        const mode = nic.linkMode ?? 'without a link';
        return needsHuman('PXE_NOT_FIXABLE', `${name} stays ${mode}, however often it is set`);
      }),
    async act(context) {
      const call = callOf(context, environment.machine);
      const seen = await environment.capabilities.maas.read(call, idOf(environment));
      const nic = seen?.addressInterface;
      if (!nic) return started('looking for the boot interface again');
      await context.effect(() => environment.capabilities.maas.linkAuto(call, idOf(environment), nic.id));
      await countOne(context, 'linked');
      return started(`waiting for ${nic.name} to be AUTO`);
    },
  }),
} as const satisfies Partial<Record<MaasStage, Stage>>;

/**
 * A test that failed is somebody's to judge: the site's, the machine's label's, or the operator's who has seen it stop the
 * operation and has the stage tried again.
 */
async function whereTestsFailed(
  environment: MaasStepEnvironment,
  context: StepContext,
  seen: MaasMachine,
): Promise<Seen> {
  const { failedTesting } = environment.capabilities.maas.site.optionsFor(environment.machine);
  const { testsFailedIn: round } = madeIn(context);
  const isJudged = typeof round === 'number' && context.round > round;
  if (failedTesting === 'override' || isJudged) return { seen: 'absent', next: true };
  await rememberMaking(context, 'testsFailedIn', context.round);
  return needsHuman('FAILED_TESTING', `MAAS says: ${seen.statusMessage || 'tests failed'}`);
}

/** A machine that lost its power type since it was found gets it again: without it, MAAS fails. */
async function commission(environment: MaasStepEnvironment, context: StepContext): Promise<void> {
  const { machine, capabilities } = environment;
  const call = callOf(context, machine);
  const seen = await capabilities.maas.read(call, idOf(environment));
  const lacking = seen?.powerType === '' ? lackingOf(environment, seen) : null;
  if (seen && lacking) await give(environment, context, seen, lacking);
  const options = capabilities.maas.site.optionsFor(machine).commissioning;
  await making(context, 'commissioning', () =>
    capabilities.maas.commission(call, idOf(environment), options),
  );
  await countOne(context, 'commissioned');
}
