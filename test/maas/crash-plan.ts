/** Where replicas crash: by the machine on whose operation they work. */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DECOMMISSION_MODES, ONBOARDING, type StageName } from '../../src/domain/workflow/stage.ts';
import type { Job } from '../../src/engine/job.ts';
import type { CrashPoint } from '../../src/engine/run-job.ts';

export interface Crash {
  readonly type: 'ONBOARD' | 'DECOMMISSION' | 'REIMAGE';
  readonly stage: StageName | (typeof REIMAGE_STEPS)[number];
  readonly point: CrashPoint;
  /** At which time that the operation comes there; the first without it. */
  readonly nth?: number;
}

/** Of a machine of a MAAS, without a cluster. */
export const REIMAGE_STEPS = ['netboot', 'repave'] as const;

export type CrashPlan = Readonly<Record<string, Crash>>;

/** Stages that only observe, or that only write to our own database, which is one transaction with their record. */
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

/** Its effects are: release, forget the token, forget it again before the deployment, deploy. */
const RELEASE = 1;
const DEPLOY = 4;

/**
 * Whether the replica is to crash here. Each crash happens once, whichever replica comes there: it is a file in `folder` that
 * can be created only once.
 */
export function crashesHere(plan: CrashPlan, folder: string, point: CrashPoint, job: Job): boolean {
  const crash = plan[job.subject];
  const stage = job.steps[job.current]?.name;
  if (crash?.type !== job.type || crash.stage !== stage || crash.point !== point) return false;
  for (let nth = 1; nth < (crash.nth ?? 1); nth++)
    if (isFirst(join(folder, `${job.subject}.${nth}`))) return false;
  return isFirst(join(folder, job.subject));
}

function isFirst(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx'));
    return true;
  } catch {
    return false;
  }
}

export function reimageCrashes(): Crash[] {
  const repave = { type: 'REIMAGE', stage: 'repave' } as const;
  return [
    { type: 'REIMAGE', stage: 'netboot', point: 'before_commit' },
    ...[RELEASE, DEPLOY].flatMap((nth) => [
      { ...repave, point: 'before_effect' as const, nth },
      { ...repave, point: 'after_effect' as const, nth },
    ]),
    { ...repave, point: 'before_commit' },
  ];
}

/** Every stage of both workflows, at every point that it has. */
export function everyCrash(): Crash[] {
  const of = (type: Crash['type'], stages: readonly StageName[]) =>
    stages.flatMap((stage) => {
      const points: CrashPoint[] = WITHOUT_EFFECTS.has(stage)
        ? ['before_commit']
        : ['before_effect', 'after_effect', 'before_commit'];
      return points.map((point) => ({ type, stage, point }));
    });
  return [...of('ONBOARD', ONBOARDING), ...of('DECOMMISSION', DECOMMISSION_MODES.full_decommission.stages)];
}

/** In an order in which neighbours are of different stages. */
export function spread(crashes: readonly Crash[]): Crash[] {
  const STRIDE = 23;
  return crashes.map((_, index) => crashes[(index * STRIDE) % crashes.length] as Crash);
}
