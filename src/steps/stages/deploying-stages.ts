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
  render_cloud_init: (environment, { pool }) =>
    observeOnly(async () => {
      // With everything but the token: that one is made when it is used, and kept nowhere.
      const text = renderWithoutToken(environment, pool);
      return done(`${Buffer.byteLength(text)} bytes of cloud-config`);
    }),

  deploy_via_maas: (environment, { pool }) => ({
    observe: (context) =>
      inMaas(environment, context, async (seen, call) => {
        // Classified already, before an operator had this stage started again: it is not done, and not waited for.
        const isLeftOver = seen.status === 'Failed deployment' && context.round > 0;
        if (isLeftOver && countOf(context, 'deployed') === 0) {
          await environment.capabilities.maas.checkOurs(call, seen);
          return ABSENT;
        }
        if (['Deploying', 'Deployed', 'Failed deployment'].includes(seen.status)) {
          return done(`MAAS says ${seen.status}`);
        }
        if (['Ready', 'Allocated', 'Reserved'].includes(seen.status)) {
          // Before a token is made: that would end the one that whoever has it uses.
          await environment.capabilities.maas.checkOurs(call, seen);
          return ABSENT;
        }
        if (seen.status === 'Releasing' || seen.status === 'Disk erasing')
          return underWay(context, `MAAS says ${seen.status}`);
        return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }),
    async act(context) {
      const call = callOf(context, environment.machine);
      const seen = await environment.capabilities.maas.read(call, idOf(environment));
      if (seen?.status === 'Failed deployment') return releaseFailed(environment, context, 'deployed again');
      const result = await deployMachine(environment, context, siteDeployment(environment, pool));
      await countOne(context, 'deployed');
      return result;
    },
    undo: (context) => undoDeployment(environment, context),
  }),

  wait_for_deployed: (environment) =>
    observeOnly((context) =>
      inMaas(environment, context, (seen) => {
        if (seen.status === 'Deployed') return done('deployed');
        if (seen.status === 'Deploying') return underWayIn(context, seen);
        if (seen.status === 'Failed deployment') return done('the deployment failed; it is classified next');
        return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }),
    ),

  classify_deploy_failure: (environment) =>
    observeOnly((context) =>
      inMaas(environment, context, (seen, call) =>
        seen.status === 'Failed deployment'
          ? classifyFailure(environment, call, seen)
          : done('there is no failure to classify'),
      ),
    ),

  recover_for_datasource_retry: (environment, { pool }) => ({
    observe: (context) =>
      inMaas(environment, context, async (seen, call) => {
        if (seen.status === 'Deployed') return done('deployed');
        if (['Deploying', 'Releasing', 'Disk erasing'].includes(seen.status)) {
          return underWayIn(context, seen);
        }
        await environment.capabilities.maas.checkOurs(call, seen);
        if (seen.status === 'Failed deployment' && countOf(context, 'retries') >= MAX_DATASOURCE_RETRIES) {
          return datasourceFailed();
        }
        const next = actFor(context, seen.status);
        return context.memo.lastAct === next ? ABSENT : { seen: 'absent', next: true };
      }),
    async act(context) {
      const call = callOf(context, environment.machine);
      const seen = await environment.capabilities.maas.read(call, idOf(environment));
      await context.save({ ...context.memo, lastAct: actFor(context, seen?.status ?? '') });
      if (seen?.status === 'Failed deployment') {
        const released = await releaseFailed(environment, context, 'datasource retry');
        await countOne(context, 'retries');
        return released;
      }
      return deployMachine(environment, context, siteDeployment(environment, pool));
    },
    undo: (context) => undoDeployment(environment, context),
  }),

  ensure_hardware_sync_configured: (environment) =>
    observeOnly((context) =>
      inMaas(environment, context, (seen) => {
        if (!environment.capabilities.maas.site.deploy.hardwareSync)
          return done('the site does not want hardware sync');
        if (seen.hardwareSync.enabled) return done('hardware sync is on');
        return needsHuman(
          'HARDWARE_SYNC_OFF',
          'the machine was deployed without hardware sync; deploy it again',
        );
      }),
    ),

  wait_for_hardware_sync_healthy: (environment) =>
    observeOnly((context) =>
      inMaas(environment, context, (seen) => {
        if (!environment.capabilities.maas.site.deploy.hardwareSync)
          return done('the site does not want hardware sync');
        if (seen.hardwareSync.isHealthy) return done('hardware sync is healthy');
        const { hardwareSyncSeconds } = environment.capabilities.maas.site.waits;
        return waitsOr(context, hardwareSyncSeconds, 'hardware sync does not report', 'HARDWARE_SYNC_FAILED');
      }),
    ),

  wait_for_agent_enrollment: (environment) =>
    observeOnly((context) =>
      inMaas(environment, context, (seen) => {
        const { presence } = environment.machine;
        if (seen.status !== 'Deployed')
          return needsHuman('UNEXPECTED_MAAS_STATE', `MAAS says ${seen.status}: ${seen.statusMessage}`);
        if (presence === 'ready') return done('its agent is ready');
        const reason = `its agent is ${presence ?? 'unknown'}`;
        return waitsOr(
          context,
          environment.capabilities.maas.site.waits.agentSeconds,
          reason,
          'AGENT_NEVER_ENROLLED',
        );
      }),
    ),
} as const satisfies Partial<Record<MaasStage, Stage>>;

/** Which act of a recovery is next. One that follows another need not be spaced as a repetition is. */
function actFor(context: StepContext, status: string): string {
  return `${status === 'Failed deployment' ? 'release' : 'deploy'} ${countOf(context, 'retries')}`;
}
