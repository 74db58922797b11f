import { expect, it } from 'vitest';
import { usedUpLimits } from './limit-sentence.ts';
import type { Amount, GroupLimit, RolloutSpec } from './spec/rollout-spec.ts';

const COUNTS = { pending: 6, running: 2, succeeded: 1, failed: 1, skipped: 0, canceled: 0, ineligible: 90 };

function sentence(
  spec: { readonly maxParallel?: Amount; readonly limits?: readonly GroupLimit[] },
  groups: ReadonlyArray<Readonly<Record<string, readonly string[]>>> = [],
): string {
  return usedUpLimits({
    spec: { maxParallel: null, limits: [], ...spec } as unknown as RolloutSpec,
    totals: COUNTS,
    underWay: groups.map((use) => new Map(Object.entries(use).map(([group, ids]) => [group, ids.length]))),
    occupants: groups.map((use) => new Map(Object.entries(use))),
  });
}

const byRack = (maxUnavailable: Amount): GroupLimit => ({
  groupBy: 'location.rack',
  filter: '',
  maxUnavailable,
});

it.each<[string, string]>([
  [
    sentence({ maxParallel: { count: 2 } }),
    'Its limits are used up: max_parallel allows 2 at once, and 2 are under way.',
  ],
  // Machines that are not eligible are no part of the 100 %.
  [
    sentence({ maxParallel: { percent: 15 } }),
    'Its limits are used up: max_parallel allows 1 at once, and 2 are under way.',
  ],
  [sentence({ maxParallel: { count: 3 } }), ''],
  [
    sentence({ limits: [byRack({ count: 1 })] }, [{ '=r1': ['m-1'], '=': ['m-9'] }]),
    'Its limits are used up: the limit by location.rack allows 1 unavailable, and r1 has m-1, no location.rack has m-9.',
  ],
  [
    sentence({ limits: [byRack({ count: 1 })] }, [
      { '=r1': ['m-1'], '=r2': ['m-2'], '=r3': ['m-3'], '=r4': ['m-4'], '=r5': ['m-5'] },
    ]),
    'Its limits are used up: the limit by location.rack allows 1 unavailable, and r1 has m-1, r2 has m-2, r3 has m-3 and 2 more.',
  ],
  [sentence({ limits: [byRack({ count: 2 })] }, [{ '=r1': ['m-1'] }]), ''],
  [
    sentence({ limits: [{ ...byRack({ count: 1 }), groupBy: '' }] }, [{ '=': ['m-1'] }]),
    'Its limits are used up: a limit allows 1 unavailable, and under way: m-1.',
  ],
  [
    sentence({ limits: [byRack({ count: 0 })] }, [{}]),
    'Its limits are used up: the limit by location.rack allows 0 unavailable.',
  ],
  // A machine that the limit does not count.
  [sentence({ limits: [byRack({ count: 1 })] }, [{ '': ['m-1'] }]), ''],
])('%#: %s', (said, expected) => expect(said).toBe(expected));
