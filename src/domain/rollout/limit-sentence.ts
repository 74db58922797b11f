/** Which limits keep a rollout from starting its next machine, and which of its machines use them up. */

import type { PassView } from './decide/pass-view.ts';
import type { MachineCounts } from './rollout.ts';
import { machinesIn } from './rollout-state.ts';
import { allowedOf } from './spec/amount.ts';

interface LimitsInView extends Pick<PassView, 'spec' | 'underWay' | 'occupants'> {
  readonly totals: MachineCounts;
}

const MAX_GROUPS = 3;

/**
 * Empty: no limit that the rollout itself keeps is used up. Percentages, and machines that are unavailable for other reasons,
 * are judged in the transaction of a start, whose refusal names them.
 */
export function usedUpLimits({ spec, underWay, occupants, totals }: LimitsInView): string {
  const reasons: string[] = [];
  if (spec.maxParallel !== null) {
    const most = allowedOf(spec.maxParallel, machinesIn(totals));
    if (totals.running >= most)
      reasons.push(
        `max_parallel allows ${most} at once, and ${totals.running} ${are(totals.running)} under way`,
      );
  }
  for (const [index, { groupBy, maxUnavailable }] of spec.limits.entries()) {
    if (!('count' in maxUnavailable)) continue;
    const most = maxUnavailable.count;
    const full = [...(underWay[index] ?? [])].filter(([group, count]) => group !== '' && count >= most);
    const by = groupBy === '' ? 'a limit' : `the limit by ${groupBy}`;
    const groups = full.map(([group, count]) =>
      occupiedGroup(groupBy, group.slice(1), some(occupants[index]?.get(group) ?? [], count)),
    );
    if (most === 0) reasons.push(`${by} allows 0 unavailable`);
    else if (groups.length > 0)
      reasons.push(`${by} allows ${most} unavailable, and ${some(groups, groups.length)}`);
  }
  return reasons.length === 0 ? '' : `Its limits are used up: ${reasons.join('; ')}.`;
}

/** "r42 has m-1", "no location.rack has m-2", "m-1 is under way". */
function occupiedGroup(groupBy: string, group: string, machines: string): string {
  if (groupBy === '') return `under way: ${machines}`;
  return `${group === '' ? `no ${groupBy}` : group} has ${machines}`;
}

function some(names: readonly string[], total: number): string {
  const named = names.slice(0, MAX_GROUPS);
  const others = total - named.length;
  if (named.length === 0) return `${total} under way`;
  return others > 0 ? `${named.join(', ')} and ${others} more` : named.join(', ');
}

function are(count: number): string {
  return count === 1 ? 'is' : 'are';
}
