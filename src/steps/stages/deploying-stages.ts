/** Stages that deploy a machine through its upstream, and wait until it is healthy. */
import type { StepContext } from '../../engine/step-handler.ts';
import type { UpstreamState } from '../../providers/upstream.ts';
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
  observeUpstream,
  readUpstream,
  saysOf,
  type UpstreamEnvironment,
  unexpected,
  waitAtMost,
  waitForUpstream,
} from '../upstream/upstream-environment.ts';
import { countOf, countOne } from './stage-memo.ts';
import { ABSENT, done, needsHuman, observeOnly, type StageHandler, underWay } from './stage-result.ts';
import type { Stage, UpstreamStage } from './upstream-stages.ts';

const DEPLOYED_OR_FAILED: readonly UpstreamState[] = ['deploying', 'deployed', 'deployment_failed'];
const TO_BE_DEPLOYED: readonly UpstreamState[] = ['ready', 'reserved'];
const BUSY: readonly UpstreamState[] = ['deploying', 'releasing', 'erasing'];

export const DEPLOYING_STAGES = {
  render_cloud_init: (environment, { pool }) =>
    observeOnly(async () => {
      // With everything but the token: that one is made when it is used, and kept nowhere.
      const text = renderWithoutToken(environment, pool);
      return done(`${Buffer.byteLength(text)} bytes of cloud-config`);
    }),

  deploy_via_maas: (environment, { pool }) => deploy(environment, pool),

  wait_for_deployed: (environment) =>
    observeOnly((context) =>
      observeUpstream(environment, context, (seen) => {
        if (seen.state === 'deployed') return done('deployed');
        if (seen.state === 'deploying') return waitForUpstream(environment, context, seen);
        if (seen.state === 'deployment_failed') return done('the deployment failed; it is classified next');
        return unexpected(environment, seen);
      }),
    ),

  classify_deploy_failure: (environment) =>
    observeOnly((context) =>
      observeUpstream(environment, context, (seen, call) =>
        seen.state === 'deployment_failed'
          ? classifyFailure(environment, call, seen)
          : done('there is no failure to classify'),
      ),
    ),

  recover_for_datasource_retry: (environment, { pool }) => deployAgain(environment, pool),

  ensure_hardware_sync_configured: (environment) =>
    observeOnly((context) =>
      observeUpstream(environment, context, ({ hardwareSync }) => {
        if (!environment.capabilities.upstream.site.hardwareSync) return done(NO_HARDWARE_SYNC);
        if (hardwareSync.enabled) return done('hardware sync is on');
        return needsHuman(
          'HARDWARE_SYNC_OFF',
          'the machine was deployed without hardware sync; deploy it again',
        );
      }),
    ),

  wait_for_hardware_sync_healthy: (environment) =>
    observeOnly((context) =>
      observeUpstream(environment, context, ({ hardwareSync }) => {
        const { site } = environment.capabilities.upstream;
        if (!site.hardwareSync) return done(NO_HARDWARE_SYNC);
        if (hardwareSync.isHealthy) return done('hardware sync is healthy');
        const { hardwareSyncSeconds } = site.waits;
        return waitAtMost(
          context,
          hardwareSyncSeconds,
          'hardware sync does not report',
          'HARDWARE_SYNC_FAILED',
        );
      }),
    ),

  wait_for_agent_enrollment: (environment) =>
    observeOnly((context) =>
      observeUpstream(environment, context, (seen) => {
        const { presence } = environment.machine;
        if (seen.state !== 'deployed') return unexpected(environment, seen);
        if (presence === 'ready') return done('its agent is ready');
        const { agentSeconds } = environment.capabilities.upstream.site.waits;
        const reason = `its agent is ${presence ?? 'unknown'}`;
        return waitAtMost(context, agentSeconds, reason, 'AGENT_NEVER_ENROLLED');
      }),
    ),
} as const satisfies Partial<Record<UpstreamStage, Stage>>;

const NO_HARDWARE_SYNC = 'the site does not want hardware sync';

function deploy(environment: UpstreamEnvironment, pool: string): StageHandler {
  const { upstream } = environment.capabilities;
  return {
    observe: (context) =>
      observeUpstream(environment, context, async (seen, call) => {
        // Classified already, before an operator had this stage started again: it is not done, and not waited for.
        const isLeftOver = seen.state === 'deployment_failed' && context.round > 0;
        if (isLeftOver && countOf(context, 'deployed') === 0) {
          await upstream.checkOwnership(call, seen);
          return ABSENT;
        }
        if (DEPLOYED_OR_FAILED.includes(seen.state)) return done(saysOf(environment, seen));
        if (TO_BE_DEPLOYED.includes(seen.state)) {
          // Before a token is issued: that would revoke the one that the machine's user may be using.
          await upstream.checkOwnership(call, seen);
          return ABSENT;
        }
        if (seen.state === 'releasing' || seen.state === 'erasing')
          return underWay(context, saysOf(environment, seen));
        return unexpected(environment, seen);
      }),
    async act(context) {
      const seen = await readUpstream(environment, callOf(context, environment.machine));
      if (seen?.state === 'deployment_failed') return releaseFailed(environment, context, 'deployed again');
      const result = await deployMachine(environment, context, siteDeployment(environment, pool));
      await countOne(context, 'deployed');
      return result;
    },
    undo: (context) => undoDeployment(environment, context),
  };
}

function deployAgain(environment: UpstreamEnvironment, pool: string): StageHandler {
  return {
    observe: (context) =>
      observeUpstream(environment, context, async (seen, call) => {
        if (seen.state === 'deployed') return done('deployed');
        if (BUSY.includes(seen.state)) return waitForUpstream(environment, context, seen);
        await environment.capabilities.upstream.checkOwnership(call, seen);
        const isFailed = seen.state === 'deployment_failed';
        if (isFailed && countOf(context, 'retries') >= MAX_DATASOURCE_RETRIES)
          return datasourceFailed(environment);
        const next = actFor(context, seen.state);
        return context.memo.lastAct === next ? ABSENT : { seen: 'absent', next: true };
      }),
    async act(context) {
      const seen = await readUpstream(environment, callOf(context, environment.machine));
      await context.save({ ...context.memo, lastAct: actFor(context, seen?.state) });
      if (seen?.state === 'deployment_failed') {
        const released = await releaseFailed(environment, context, 'datasource retry');
        await countOne(context, 'retries');
        return released;
      }
      return deployMachine(environment, context, siteDeployment(environment, pool));
    },
    undo: (context) => undoDeployment(environment, context),
  };
}

/** Which act of a recovery is next: an act that follows another one is not a repetition, and need not be spaced. */
function actFor(context: StepContext, state: UpstreamState | undefined): string {
  return `${state === 'deployment_failed' ? 'release' : 'deploy'} ${countOf(context, 'retries')}`;
}
