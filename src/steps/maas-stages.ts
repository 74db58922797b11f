/**
 * The stages of document 3 that are MAAS's to carry out. Each looks at the machine in MAAS first: what has happened
 * already, by us or by somebody else, is adopted and not done again.
 */
import { type DecommissionStage, type OnboardingStage, STAGES } from '../domain/stage.ts';
import type { StepContext } from '../engine/step-handler.ts';
import { isDatasourceFailure } from '../providers/maas/deploy-failure.ts';
import type { MaasMachine } from '../providers/maas/maas-control.ts';
import type { ProviderCall } from '../providers/provider.ts';
import { renderCloudInit } from './cloud-init.ts';
import {
  ABSENT,
  countOf,
  countOne,
  done,
  failed,
  needsHuman,
  observedIn,
  onlyLooks,
  type Seen,
  type StageHandler,
  started,
  underWay,
} from './stage-tools.ts';
import { callOf, type Scene, undoCallOf } from './step-kind.ts';

export type MaasStage =
  | Exclude<OnboardingStage, 'wait_for_agent_enrollment'>
  | Extract<DecommissionStage, 'release_maas_node' | 'power_off_maas_node' | 'remove_maas_record'>;

export interface StageConfig {
  readonly pool: string;
  readonly erase: boolean;
}

type MaasScene = Scene<'maas' | 'nodeServices'>;
type Stage = (scene: MaasScene, config: StageConfig) => StageHandler;

/** Further than Ready: whoever brought it here has configured it. */
const BEYOND_READY: readonly string[] = ['Allocated', 'Reserved', 'Deploying', 'Deployed'];
const MAX_DATASOURCE_RETRIES = 2;
const MAX_LINK_ATTEMPTS = 3;
const MAX_COMMISSIONS = 2;
const PATIENCE = 0.9;

function idOf({ machine }: MaasScene): string {
  return machine.observed?.upstreamId ?? '';
}

/** The machine in MAAS, as everybody who is past finding it expects it: there. */
async function inMaas(
  scene: MaasScene,
  context: StepContext,
  look: (seen: MaasMachine, call: ProviderCall) => Promise<Seen> | Seen,
): Promise<Seen> {
  const { machine, can } = scene;
  const call = callOf(context, machine);
  const systemId = idOf(scene);
  const seen = systemId === '' ? null : await can.maas.read(call, systemId);
  if (seen === null) {
    const gone = needsHuman('MACHINE_GONE', `MAAS has no machine ${systemId || 'for this node'} any more`);
    return { ...gone, change: observedIn(machine.spec.provider, null, machine, context.now()) };
  }
  const result = await look(seen, call);
  if (result.seen === 'under_way' || result.seen === 'absent') return result;
  const observed = observedIn(machine.spec.provider, seen, machine, context.now());
  return { ...result, change: { ...result.change, ...observed } };
}

/** Where a stage waits, until most of its time is over: then a human must look, and not another attempt. */
async function waitsOr(context: StepContext, seconds: number, reason: string, code: string): Promise<Seen> {
  const since = countOf(context, 'waitingSince');
  const now = context.now().getTime();
  if (since === 0) {
    await context.save({ ...context.memo, waitingSince: now });
    return underWay(context, reason);
  }
  if (now - since < seconds * 1000 * PATIENCE) return underWay(context, reason);
  return needsHuman(code, `${reason}, for ${Math.round((now - since) / 1000)} seconds`);
}

export const MAAS_STAGES: Readonly<Record<MaasStage, Stage>> = {
  load_site_config: ({ can }) =>
    onlyLooks(async () => {
      const { deploy } = can.maas.site;
      return done(`deploys ${deploy.osystem} ${deploy.distroSeries}`);
    }),

  resolve_power_credentials: (scene) =>
    onlyLooks(async () => {
      const { powerType } = scene.can.maas.site.resolvePower(scene.machine);
      return done(`power type ${powerType}; the credentials can be read`);
    }),

  create_or_find_in_maas: (scene) => ({
    async observe(context) {
      const { machine, can } = scene;
      const call = callOf(context, machine);
      const { mac_addresses: macs } = machine.spec;
      if (macs.length === 0) return needsHuman('NO_MAC_ADDRESS', 'spec.mac_addresses is empty');
      const candidates = await can.maas.findByMac(call, macs);
      const ids = [...new Set(candidates.map(({ systemId }) => systemId))];
      if (ids.length > 1) {
        const list = ids.join(', ');
        return needsHuman('CONFLICTING_CANDIDATES', `several machines in MAAS have its addresses: ${list}`);
      }
      const [found] = candidates;
      if (!found) return ABSENT;
      const change = observedIn(machine.spec.provider, found, machine, context.now());
      return done(`${found.systemId} (${found.hostname}), ${found.status}`, change);
    },
    async act(context) {
      const { machine, can } = scene;
      const { architecture } = can.maas.site;
      const power = can.maas.site.resolvePower(machine);
      await context.effect(() =>
        can.maas.create(callOf(context, machine), {
          hostname: machine.machineId.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-'),
          architecture,
          macAddresses: machine.spec.mac_addresses,
          ...power,
        }),
      );
      return started('waiting for MAAS to know the machine');
    },
  }),

  commission_node: (scene) => ({
    observe: (context) =>
      inMaas(scene, context, (seen) => {
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
      await context.effect(() => scene.can.maas.commission(callOf(context, scene.machine), idOf(scene)));
      await countOne(context, 'commissioned');
      return started('commissioning begins');
    },
    undo: (context) => abortIf(scene, context, ['Commissioning', 'Testing']),
  }),

  wait_for_ready: (scene) => ({
    observe: (context) =>
      inMaas(scene, context, (seen) => {
        if (seen.status === 'Ready' || BEYOND_READY.includes(seen.status))
          return done(`MAAS says ${seen.status}`);
        if (seen.status === 'Commissioning' || seen.status === 'Testing' || seen.status === 'Releasing') {
          return underWay(context, `MAAS says ${seen.status}`);
        }
        if (seen.status === 'Failed deployment') return done('to be recovered later');
        // Commissioning that failed may pass when it is tried again; the stage before does not come back by itself.
        return seen.status === 'Failed commissioning' || seen.status === 'New'
          ? ABSENT
          : needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }),
    async act(context) {
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
      await context.effect(() => scene.can.maas.commission(callOf(context, scene.machine), idOf(scene)));
      await countOne(context, 'commissioned');
      return started('commissioning begins again');
    },
  }),

  configure_storage: (scene) => ({
    observe: (context) =>
      inMaas(scene, context, async (seen, call) => {
        if (seen.status !== 'Ready') return done(`MAAS says ${seen.status}: storage is as it was deployed`);
        const { bootDiskModel } = scene.can.maas.site;
        const disks = await scene.can.maas.disks(call, seen.systemId);
        const wanted = disks.find((disk) => scene.can.maas.site.isBootDisk(disk));
        if (!wanted) {
          const models = disks.map(({ name, model }) => `${name} ${model}`.trim()).join(', ');
          return needsHuman(
            'BOOT_DISK_NOT_FOUND',
            `no disk is a ${bootDiskModel}; there are ${models || 'none'}`,
          );
        }
        const isLaidOut = context.memo.laidOut === wanted.id;
        return seen.bootDiskId === wanted.id && isLaidOut ? done(`boots from ${wanted.name}`) : ABSENT;
      }),
    async act(context) {
      const call = callOf(context, scene.machine);
      const disks = await scene.can.maas.disks(call, idOf(scene));
      const wanted = disks.find((disk) => scene.can.maas.site.isBootDisk(disk));
      if (!wanted) return started('looking for the boot disk again');
      await context.effect(() => scene.can.maas.setBootDisk(call, idOf(scene), wanted.id));
      await context.effect(() => scene.can.maas.setFlatLayout(call, idOf(scene), wanted.id));
      await context.save({ laidOut: wanted.id });
      return started('waiting for the boot disk to be set');
    },
  }),

  apply_roce_phase2: (scene) => hooked(scene, 'apply_roce_phase2'),

  ensure_pxe_interface_auto: (scene) => ({
    observe: (context) =>
      inMaas(scene, context, (seen) => {
        if (seen.bootInterface?.linkMode?.toLowerCase() === 'auto') {
          return done(`${seen.bootInterface.name} is AUTO`);
        }
        if (seen.status !== 'Ready')
          return done(`MAAS says ${seen.status}: interfaces are as they were deployed`);
        if (seen.bootInterface === null) return needsHuman('PXE_NOT_FIXABLE', 'MAAS knows no boot interface');
        if (countOf(context, 'linked') < MAX_LINK_ATTEMPTS) return ABSENT;
        const mode = seen.bootInterface.linkMode ?? 'without a link';
        return needsHuman(
          'PXE_NOT_FIXABLE',
          `${seen.bootInterface.name} stays ${mode}, however often it is set`,
        );
      }),
    async act(context) {
      const call = callOf(context, scene.machine);
      const seen = await scene.can.maas.read(call, idOf(scene));
      const nic = seen?.bootInterface;
      if (!nic) return started('looking for the boot interface again');
      await context.effect(() => scene.can.maas.linkAuto(call, idOf(scene), nic.id));
      await countOne(context, 'linked');
      return started(`waiting for ${nic.name} to be AUTO`);
    },
  }),

  render_cloud_init: (scene, { pool }) =>
    onlyLooks(async () => {
      // With everything but the token: that one is made when it is used, and kept nowhere.
      const text = renderCloudInit(
        scene.can.maas.site.readUserDataTemplate() ?? '',
        agentOf(scene, pool, '{token}'),
      );
      return done(`${Buffer.byteLength(text)} bytes of cloud-config`);
    }),

  deploy_via_maas: (scene, config) => ({
    observe: (context) =>
      inMaas(scene, context, (seen) => {
        if (['Deploying', 'Deployed', 'Failed deployment'].includes(seen.status)) {
          return done(`MAAS says ${seen.status}`);
        }
        if (['Ready', 'Allocated', 'Reserved'].includes(seen.status)) return ABSENT;
        if (seen.status === 'Releasing' || seen.status === 'Disk erasing')
          return underWay(context, `MAAS says ${seen.status}`);
        return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }),
    act: (context) => deploy(scene, context, config),
    undo: (context) => abortIf(scene, context, ['Deploying']),
  }),

  wait_for_deployed: (scene) =>
    onlyLooks((context) =>
      inMaas(scene, context, (seen) => {
        if (seen.status === 'Deployed') return done('deployed');
        if (seen.status === 'Deploying') return underWay(context, 'MAAS says Deploying');
        if (seen.status === 'Failed deployment') return done('the deployment failed; it is classified next');
        return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }),
    ),

  classify_deploy_failure: (scene) =>
    onlyLooks((context) =>
      inMaas(scene, context, async (seen, call) => {
        if (seen.status !== 'Failed deployment') return done('there is no failure to classify');
        const events = await scene.can.maas.events(call, seen.systemId, 50);
        if (isDatasourceFailure(events)) return done('the machine did not find its datasource');
        const what = seen.statusMessage || events[0]?.description || 'no reason given';
        return needsHuman('DEPLOYMENT_FAILED', `MAAS says: ${what}`);
      }),
    ),

  recover_for_datasource_retry: (scene, config) => ({
    observe: (context) =>
      inMaas(scene, context, (seen) => {
        if (seen.status === 'Deployed') return done('deployed');
        if (['Deploying', 'Releasing', 'Disk erasing'].includes(seen.status)) {
          return underWay(context, `MAAS says ${seen.status}`);
        }
        if (seen.status === 'Failed deployment' && countOf(context, 'retries') >= MAX_DATASOURCE_RETRIES) {
          return needsHuman(
            'DATASOURCE_FAILED',
            `the datasource failed ${MAX_DATASOURCE_RETRIES + 1} times; cloud-init does not reach MAAS`,
          );
        }
        return ABSENT;
      }),
    async act(context) {
      const call = callOf(context, scene.machine);
      const seen = await scene.can.maas.read(call, idOf(scene));
      if (seen?.status === 'Failed deployment') {
        const release = { erase: false, secureErase: false, quickErase: false, comment: 'datasource retry' };
        await context.effect(() => scene.can.maas.release(call, seen.systemId, release));
        await countOne(context, 'retries');
        return started('releasing the machine for another try');
      }
      return deploy(scene, context, config);
    },
  }),

  ensure_hardware_sync_configured: (scene) =>
    onlyLooks((context) =>
      inMaas(scene, context, (seen) => {
        if (!scene.can.maas.site.deploy.hardwareSync) return done('the site does not want hardware sync');
        if (seen.hardwareSync.enabled) return done('hardware sync is on');
        return needsHuman(
          'HARDWARE_SYNC_OFF',
          'the machine was deployed without hardware sync; deploy it again',
        );
      }),
    ),

  wait_for_hardware_sync_healthy: (scene) =>
    onlyLooks((context) =>
      inMaas(scene, context, (seen) => {
        if (!scene.can.maas.site.deploy.hardwareSync) return done('the site does not want hardware sync');
        if (seen.hardwareSync.isHealthy) return done('hardware sync is healthy');
        const { timeoutSeconds } = STAGES.wait_for_hardware_sync_healthy;
        return waitsOr(context, timeoutSeconds, 'hardware sync does not report', 'HARDWARE_SYNC_FAILED');
      }),
    ),

  release_maas_node: (scene, { erase }) => ({
    async observe(context) {
      const { machine, can } = scene;
      const systemId = idOf(scene);
      const seen = systemId === '' ? null : await can.maas.read(callOf(context, machine), systemId);
      const observed = observedIn(machine.spec.provider, seen, machine, context.now());
      if (seen === null) return done('MAAS has no such machine', observed);
      if (['Ready', 'New', 'Retired'].includes(seen.status))
        return done(`MAAS says ${seen.status}`, observed);
      if (seen.status === 'Releasing' || seen.status === 'Disk erasing')
        return underWay(context, `MAAS says ${seen.status}`);
      const isFailed = seen.status === 'Releasing failed' || seen.status === 'Failed disk erasing';
      if (isFailed && countOf(context, 'released') > 0) {
        return failed('retryable', 'RELEASE_FAILED', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }
      return ABSENT;
    },
    async act(context) {
      const call = callOf(context, scene.machine);
      const release = { erase, secureErase: erase, quickErase: false, comment: 'decommission' };
      // What runs on it will be gone, and must not count as alive until its time to live is over. Before the release,
      // so that whoever takes over after a death does both.
      await context.effect(() => scene.can.nodeServices.forgetSecrets(call));
      await context.effect(() => scene.can.maas.release(call, idOf(scene), release));
      await countOne(context, 'released');
      return started('MAAS releases the machine');
    },
  }),

  power_off_maas_node: (scene) => ({
    async observe(context) {
      const systemId = idOf(scene);
      const seen =
        systemId === '' ? null : await scene.can.maas.read(callOf(context, scene.machine), systemId);
      if (seen === null) return done('MAAS has no such machine');
      return seen.power === 'off' ? done('the power is off') : ABSENT;
    },
    async act(context) {
      await context.effect(() => scene.can.maas.powerOff(callOf(context, scene.machine), idOf(scene)));
      return started('waiting for the power to be off');
    },
  }),

  remove_maas_record: (scene) => ({
    async observe(context) {
      const { machine, can } = scene;
      const systemId = idOf(scene);
      const seen = systemId === '' ? null : await can.maas.read(callOf(context, machine), systemId);
      if (seen !== null) return ABSENT;
      return done(
        'MAAS has no record of it',
        observedIn(machine.spec.provider, null, machine, context.now()),
      );
    },
    async act(context) {
      await context.effect(() => scene.can.maas.remove(callOf(context, scene.machine), idOf(scene)));
      return started('waiting for the record to be gone');
    },
  }),
};

function agentOf({ machine, can }: MaasScene, pool: string, token: string) {
  return {
    server: can.nodeServices.serverUrl(),
    machineId: machine.machineId,
    pool,
    provider: machine.spec.provider,
    token,
  };
}

async function deploy(scene: MaasScene, context: StepContext, { pool }: StageConfig) {
  const { machine, can } = scene;
  const { site } = can.maas;
  const call = callOf(context, machine);
  await context.effect(async () => {
    const { token } = await can.nodeServices.issueAgentToken(call, pool);
    await can.maas.deploy(call, idOf(scene), {
      userData: renderCloudInit(site.readUserDataTemplate() ?? '', agentOf(scene, pool, token)),
      osystem: site.deploy.osystem,
      distroSeries: site.deploy.distroSeries,
      enableHardwareSync: site.deploy.hardwareSync,
    });
  });
  return started('deployment begins');
}

/** Stops what this stage set off, if it is still under way. */
async function abortIf(scene: MaasScene, context: StepContext, statuses: readonly string[]) {
  const call = undoCallOf(context, scene.machine);
  const seen = idOf(scene) === '' ? null : await scene.can.maas.read(call, idOf(scene));
  if (seen === null || !statuses.includes(seen.status)) {
    return { result: 'done', message: `nothing is under way: ${seen?.status ?? 'absent'}` } as const;
  }
  await context.effect(() => scene.can.maas.abort(call, seen.systemId, 'the operation was canceled'));
  return started(`waiting for MAAS to stop ${seen.status}`);
}

/** A stage that the site carries out. */
export function hooked({ machine, can }: Scene<'nodeServices'>, stage: string): StageHandler {
  return {
    async observe(context) {
      if (context.memo.hook === 'done') return done('the site says that it is done');
      if (context.memo.hook === 'not_configured')
        return done('no hook is configured for this stage: nothing was done');
      return ABSENT;
    },
    async act(context) {
      const hook = await context.effect(() => can.nodeServices.hook(callOf(context, machine), stage));
      if (hook === 'under_way') return started('the site works on it', 5_000);
      await context.save({ hook });
      return started('the site has answered', 1);
    },
  };
}
