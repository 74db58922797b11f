/** What is allowed in a rollout, and may surprise. Each warning is one sentence. */
import { PHASE_GATED_TYPES } from '../../domain/operation/phase-gated-type.ts';
import type { Estimate } from '../../domain/rollout/estimate.ts';
import { durationText } from '../../domain/rollout/spec/duration-text.ts';
import type { RolloutSpec, RolloutStep, StopRules } from '../../domain/rollout/spec/rollout-spec.ts';
import type { MachinesAtWork } from '../../store/rollouts/machines-at-work.ts';
import type { ResolvedRollout } from './resolve-rollout.ts';

/** From here on many machines at once are worth a word. */
const MANY = 10;

interface WarnedOf {
  readonly spec: RolloutSpec;
  readonly resolved: ResolvedRollout;
  readonly atWork: MachinesAtWork;
  readonly startsAt: Date | null;
  readonly estimate: Estimate | null;
}

export function previewWarnings({ spec, resolved, atWork, startsAt, estimate }: WarnedOf): string[] {
  const eligible = resolved.waves.reduce((sum, { machines }) => sum + machines, 0);
  const left = resolved.machines.length - eligible;
  const warnings: (string | false)[] = [
    left > 0 &&
      eligible > 0 &&
      `${left} of ${resolved.machines.length} machines are left out: they are not eligible`,
    eligible >= MANY && hasNoRule(spec.stop) && 'there is no stop rule: failures do not stop it',
    eligible >= MANY &&
      resolved.waves.length === 1 &&
      'there is one wave: no machine is tried out before the others',
    eligible >= MANY &&
      spec.maxParallel === null &&
      spec.limits.length === 0 &&
      'there is neither max_parallel nor a limit: all machines of a wave are changed at once',
    destroys(spec.steps) && 'it destroys what is on the disks of the machines',
    stays(spec.steps) && 'it enters maintenance and does not exit: the machines stay out of service',
    atWork.busy > 0 && `an operation works on ${count(atWork.busy)}: they wait for its end`,
    atWork.unavailable > 0 && `${count(atWork.unavailable)} unavailable already`,
    shortMaintenance(spec.steps),
    startsAt === null && 'no window opens within the next 400 days: nothing would ever start',
    startsAt !== null &&
      spec.deadline !== null &&
      startsAt >= spec.deadline &&
      'the deadline passes before it could start',
    startsAt !== null && endsLate(spec, startsAt, estimate),
    spec.limits.some(({ maxUnavailable }) => 'count' in maxUnavailable && maxUnavailable.count === 0) &&
      'a limit of 0 lets nothing start',
    spec.follow && 'machines that come to match are added to the last wave while it runs',
    spec.overrideBudget && 'disruption budgets are overridden',
  ];
  return warnings.filter((warning) => warning !== false);
}

/** By its estimate. */
function endsLate({ deadline }: RolloutSpec, startsAt: Date, estimate: Estimate | null): string | false {
  if (deadline === null || estimate === null || startsAt >= deadline) return false;
  const ends = startsAt.getTime() + estimate.p50Seconds * 1000;
  return ends > deadline.getTime() && 'by its estimate it has not ended when the deadline passes';
}

function count(machines: number): string {
  return machines === 1 ? '1 machine' : `${machines} machines`;
}

function hasNoRule(stop: StopRules): boolean {
  const { afterFailures, failurePercent, sameError, poolDegraded, unhealthy, metrics } = stop;
  const counts = [afterFailures, failurePercent, sameError];
  return counts.every((rule) => rule === null) && !poolDegraded && unhealthy === '' && metrics.length === 0;
}

function destroys(steps: readonly RolloutStep[]): boolean {
  return steps.some(
    ({ verb }) => verb === 'erase' || (verb === 'reimage' && PHASE_GATED_TYPES.REIMAGE.destructive),
  );
}

function stays(steps: readonly RolloutStep[]): boolean {
  const last = (verb: RolloutStep['verb']) => steps.findLastIndex((step) => step.verb === verb);
  const entered = last('enter-maintenance');
  const step = steps[entered];
  const leavesByItself = step?.verb === 'enter-maintenance' && step.exitWhenOver;
  return entered >= 0 && last('exit-maintenance') < entered && !leavesByItself;
}

/** A maintenance that is over before what has to happen in it can be. */
function shortMaintenance(steps: readonly RolloutStep[]): string | false {
  const entered = steps.find((step) => step.verb === 'enter-maintenance');
  const verified = steps.reduce((sum, step) => sum + (step.verb === 'verify' ? step.forMs : 0), 0);
  if (entered?.verb !== 'enter-maintenance' || entered.durationMs === null || entered.durationMs > verified)
    return false;
  return `the maintenance of ${durationText(entered.durationMs)} is over before verify has seen ${durationText(verified)}`;
}
