/** Stages that deploy a machine through MAAS, and wait until it is well. */
import type { StepContext } from '../../engine/step-handler.ts';
import { callOf } from '../step-kind.ts';
import {
  classifyFailure,
  datasourceFailed,
  deployMachine,
  MAX_DATASOURCE_RETRIES,
  releaseFailed,
  renderWithoutToken,
  siteDeployment,
} from '../upstream/deployment.ts';
import { undoDeployment } from '../upstream/undo-onboarding.ts';
import {
  idOf,
  inMaas,
  type MaasStage,
  type Stage,
  underWayIn,
  waitsOr,
} from '../upstream/upstream-environment.ts';
import { ABSENT, countOf, countOne, done, needsHuman, observeOnly, underWay } from './stage-handling.ts';

export const DEPLOYING_STAGES = {
  render_cloud_init: (scene, { pool }) =>
    observeOnly(async () => {
      // With everything but the token: that one is made when it is used, and kept nowhere.
      const text = renderWithoutToken(scene, pool);
      return done(`${Buffer.byteLength(text)} bytes of cloud-config`);
    }),

  deploy_via_maas: (scene, { pool }) => ({
    observe: (context) =>
      inMaas(scene, context, async (seen, call) => {
        // Classified already, before an operator had this stage started again: it is not done, and not waited for.
        const isLeftOver = seen.status === 'Failed deployment' && context.round > 0;
        if (isLeftOver && countOf(context, 'deployed') === 0) {
          await scene.can.maas.checkOurs(call, seen);
          return ABSENT;
        }
        if (['Deploying', 'Deployed', 'Failed deployment'].includes(seen.status)) {
          return done(`MAAS says ${seen.status}`);
        }
        if (['Ready', 'Allocated', 'Reserved'].includes(seen.status)) {
          // Before a token is made: that would end the one that whoever has it uses.
          await scene.can.maas.checkOurs(call, seen);
          return ABSENT;
        }
        if (seen.status === 'Releasing' || seen.status === 'Disk erasing')
          return underWay(context, `MAAS says ${seen.status}`);
        return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }),
    async act(context) {
      const call = callOf(context, scene.machine);
      const seen = await scene.can.maas.read(call, idOf(scene));
      if (seen?.status === 'Failed deployment') return releaseFailed(scene, context, 'deployed again');
      const result = await deployMachine(scene, context, siteDeployment(scene, pool));
      await countOne(context, 'deployed');
      return result;
    },
    undo: (context) => undoDeployment(scene, context),
  }),

  wait_for_deployed: (scene) =>
    observeOnly((context) =>
      inMaas(scene, context, (seen) => {
        if (seen.status === 'Deployed') return done('deployed');
        if (seen.status === 'Deploying') return underWayIn(context, seen);
        if (seen.status === 'Failed deployment') return done('the deployment failed; it is classified next');
        return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }),
    ),

  classify_deploy_failure: (scene) =>
    observeOnly((context) =>
      inMaas(scene, context, (seen, call) =>
        seen.status === 'Failed deployment'
          ? classifyFailure(scene, call, seen)
          : done('there is no failure to classify'),
      ),
    ),

  recover_for_datasource_retry: (scene, { pool }) => ({
    observe: (context) =>
      inMaas(scene, context, async (seen, call) => {
        if (seen.status === 'Deployed') return done('deployed');
        if (['Deploying', 'Releasing', 'Disk erasing'].includes(seen.status)) {
          return underWayIn(context, seen);
        }
        await scene.can.maas.checkOurs(call, seen);
        if (seen.status === 'Failed deployment' && countOf(context, 'retries') >= MAX_DATASOURCE_RETRIES) {
          return datasourceFailed();
        }
        const next = actFor(context, seen.status);
        return context.memo.lastAct === next ? ABSENT : { seen: 'absent', next: true };
      }),
    async act(context) {
      const call = callOf(context, scene.machine);
      const seen = await scene.can.maas.read(call, idOf(scene));
      await context.save({ ...context.memo, lastAct: actFor(context, seen?.status ?? '') });
      if (seen?.status === 'Failed deployment') {
        const released = await releaseFailed(scene, context, 'datasource retry');
        await countOne(context, 'retries');
        return released;
      }
      return deployMachine(scene, context, siteDeployment(scene, pool));
    },
    undo: (context) => undoDeployment(scene, context),
  }),

  ensure_hardware_sync_configured: (scene) =>
    observeOnly((context) =>
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
    observeOnly((context) =>
      inMaas(scene, context, (seen) => {
        if (!scene.can.maas.site.deploy.hardwareSync) return done('the site does not want hardware sync');
        if (seen.hardwareSync.isHealthy) return done('hardware sync is healthy');
        const { hardwareSyncSeconds } = scene.can.maas.site.waits;
        return waitsOr(context, hardwareSyncSeconds, 'hardware sync does not report', 'HARDWARE_SYNC_FAILED');
      }),
    ),

  wait_for_agent_enrollment: (scene) =>
    observeOnly((context) =>
      inMaas(scene, context, (seen) => {
        const { presence } = scene.machine;
        if (seen.status !== 'Deployed')
          return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
        if (presence === 'ready') return done('its agent is ready');
        const reason = `its agent is ${presence ?? 'unknown'}`;
        return waitsOr(context, scene.can.maas.site.waits.agentSeconds, reason, 'AGENT_NEVER_ENROLLED');
      }),
    ),
} as const satisfies Partial<Record<MaasStage, Stage>>;

/** Which act of a recovery is next. One that follows another need not be spaced as a repetition is. */
function actFor(context: StepContext, status: string): string {
  return `${status === 'Failed deployment' ? 'release' : 'deploy'} ${countOf(context, 'retries')}`;
}
