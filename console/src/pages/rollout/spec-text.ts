/** The spec of a rollout as short texts. */
import type {
  Blackout,
  GroupLimit,
  RolloutSpec,
  RolloutStep,
  StopRules,
  Window,
} from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { verbOf } from '../../rollout-view.ts';

/** `reimage image_ref=ubuntu-2404`: the verb and what is set. */
export function stepText(step: RolloutStep): string {
  const settings = Object.entries(step.step.value ?? {})
    .filter(([name, value]) => !name.startsWith('$') && value !== '' && value !== false)
    .map(([name, value]) => {
      const key = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return value === true ? key : `${key}=${String(value)}`;
    });
  return [verbOf(step), ...settings].join(' ');
}

export function wavesText({ waves, by, order }: RolloutSpec): string {
  if (by !== '') return `by ${by}${order.length > 0 ? `, ${order.join(', ')} first` : ''}`;
  return waves.length === 0 ? 'one wave' : waves.join(', ');
}

export function gateText({ gate, gates }: RolloutSpec): string {
  const usual = gate || 'automatic';
  return gates.some((text) => text !== '') ? gates.map((text) => text || usual).join(', ') : usual;
}

export function limitText({ groupBy, filter, maxUnavailable }: GroupLimit): string {
  const where = groupBy === '' ? 'of all machines' : `per ${groupBy}`;
  return `${maxUnavailable} unavailable ${where}${filter === '' ? '' : ` among ${filter}`}`;
}

export function stopTexts(stop: StopRules | undefined): string[] {
  if (!stop) return [];
  const rules = [
    stop.afterFailures > 0 ? `after ${stop.afterFailures} failures` : '',
    stop.failurePercent > 0 ? `above ${stop.failurePercent} % of a wave` : '',
    stop.sameError > 0 ? `at the same error ${stop.sameError} times` : '',
    stop.poolDegraded ? 'when a pool is degraded' : '',
    stop.unhealthy === '' ? '' : `when a finished machine matches ${stop.unhealthy}`,
    ...stop.metrics.map(
      ({ name, above, below }) =>
        `when ${name} is ${above === undefined ? `below ${below}` : `above ${above}`}`,
    ),
  ].filter((rule) => rule !== '');
  return rules.length > 0 && stop.cancelRunning ? [...rules, 'and cancel what is under way'] : rules;
}

export function windowText({ days, from, to, timeZone }: Window): string {
  return `${days.length === 0 ? 'every day' : days.join(', ')} ${from} to ${to} ${timeZone || 'UTC'}`;
}

export function blackoutText({ from, to, reason }: Blackout): string {
  const days = to === '' || to === from ? from : `${from} to ${to}`;
  return reason === '' ? days : `${days} (${reason})`;
}
