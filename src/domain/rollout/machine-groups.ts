import { counts, groupOf, limitsOfRollout } from '../budget/limit.ts';
import type { Machine } from '../machine/machine.ts';
import type { GroupLimit } from './spec/rollout-spec.ts';

/** For each limit by group: "=" and the machine's value of the field; empty: the limit does not count it. */
export function groupsOfMachine(limits: readonly GroupLimit[], machine: Machine): string[] {
  return limitsOfRollout('', limits).map((limit) =>
    counts(limit, machine) ? `=${groupOf(limit.groupBy, machine)}` : '',
  );
}
