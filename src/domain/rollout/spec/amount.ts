import type { Amount } from './rollout-spec.ts';

/** The size of a wave: a share is rounded up, so that every wave has a machine. */
export function machinesOf(amount: Amount, total: number): number {
  return 'count' in amount ? amount.count : Math.max(1, Math.ceil((total * amount.percent) / 100));
}

/**
 * How many machines of so many a limit allows: a share is rounded down, and allows at least one machine unless it is 0%. 10% of
 * 25 are 2, 10% of 5 are 1.
 */
export function allowedOf(amount: Amount, machines: number): number {
  if ('count' in amount) return amount.count;
  return amount.percent === 0 ? 0 : Math.max(1, Math.floor((machines * amount.percent) / 100));
}
