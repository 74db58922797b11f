/** Where replicas die: by the machine on whose operation they work. */
import { DECOMMISSION_MODES, ONBOARDING, type StageName } from '../../src/domain/stage.ts';
import type { CrashPoint } from '../../src/engine/run-job.ts';

export interface Death {
  readonly type: 'ONBOARD' | 'DECOMMISSION';
  readonly stage: StageName;
  readonly point: CrashPoint;
}

export type DeathPlan = Readonly<Record<string, Death>>;

/** Stages that only look, or that only write to our own database, which is one transaction with their record. */
const WITHOUT_EFFECTS: ReadonlySet<StageName> = new Set([
  'load_site_config',
  'resolve_power_credentials',
  'render_cloud_init',
  'wait_for_deployed',
  'classify_deploy_failure',
  'ensure_hardware_sync_configured',
  'wait_for_hardware_sync_healthy',
  'wait_for_agent_enrollment',
  'disable_node',
  'retire_gpuaas_node',
  'remove_gpuaas_node_record',
]);

/** Every stage of both workflows, at every point that it has. */
export function everyDeath(): Death[] {
  const of = (type: Death['type'], stages: readonly StageName[]) =>
    stages.flatMap((stage) => {
      const points: CrashPoint[] = WITHOUT_EFFECTS.has(stage)
        ? ['before_commit']
        : ['before_effect', 'after_effect', 'before_commit'];
      return points.map((point) => ({ type, stage, point }));
    });
  return [...of('ONBOARD', ONBOARDING), ...of('DECOMMISSION', DECOMMISSION_MODES.full_decommission.stages)];
}
