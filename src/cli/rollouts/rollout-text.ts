/** Short texts about a rollout, for lists, details and progress. */
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type {
  MachineCounts,
  Rollout,
  RolloutStep,
  Wave,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';

/** The machines that have come to an end, of those that had a turn coming. */
export function doneCount({ machines }: { machines?: MachineCounts | undefined }): number {
  const { succeeded = 0, failed = 0, skipped = 0, canceled = 0, ineligible = 0 } = machines ?? {};
  return succeeded + failed + skipped + canceled + ineligible;
}

const COUNTED = ['succeeded', 'failed', 'running', 'pending', 'skipped', 'canceled', 'ineligible'] as const;

/** `17 succeeded, 1 failed`; only what there is. */
export function countsText(machines: MachineCounts | undefined): string {
  const parts = COUNTED.filter((state) => (machines?.[state] ?? 0) > 0);
  return parts.map((state) => `${machines?.[state]} ${state}`).join(', ') || 'no machines';
}

export const machinesText = (count: number): string => `${count} machine${count === 1 ? '' : 's'}`;

const VERBS = {
  enterMaintenance: 'enter-maintenance',
  exitMaintenance: 'exit-maintenance',
  reboot: 'reboot',
  reimage: 'reimage',
  verify: 'verify',
  plan: 'plan',
  onboard: 'onboard',
  decommission: 'decommission',
  drain: 'drain',
  remove: 'remove',
  erase: 'erase',
} as const satisfies Record<NonNullable<RolloutStep['step']['case']>, string>;

/** `reimage(ubuntu-2404)` */
function stepText({ step }: RolloutStep): string {
  if (step.case === undefined) return '?';
  const { $typeName: _type, $unknown: _unknown, ...fields } = step.value as Record<string, unknown>;
  const texts = Object.values(fields).filter((value) => typeof value === 'string' && value !== '');
  return texts.length === 0 ? VERBS[step.case] : `${VERBS[step.case]}(${texts.join(', ')})`;
}

export function stepsText(steps: readonly RolloutStep[]): string {
  return steps.map(stepText).join(' → ');
}

/** The wave that is under way, or the one whose turn comes next. */
export function currentWave({ waves }: Rollout): Wave | undefined {
  return waves.find(({ finishedAt }) => finishedAt === undefined) ?? waves.at(-1);
}

/** `wave 2/3 (10%)` */
export function waveText({ waves }: Rollout, wave: Wave): string {
  const name = wave.name === '' ? '' : ` (${wave.name})`;
  return `wave ${wave.number}/${waves.length}${name}`;
}

export function elapsedMs({ startedAt, finishedAt, createdAt }: Rollout, now: number): number {
  const start = startedAt ?? createdAt;
  if (start === undefined) return 0;
  return Math.max(0, (finishedAt === undefined ? now : timestampMs(finishedAt)) - timestampMs(start));
}

/** The command that starts the machines of one failure again. */
export function retryCommand(program: string, rolloutId: string, errorCode: string): string {
  return `${program} rollout retry ${rolloutId}${errorCode === '' ? '' : ` --error-code ${errorCode}`}`;
}
