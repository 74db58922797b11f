/** Which limits and budgets hold a rollout up, by how much, and which machines occupy them now. */
import type { Caller } from '../../domain/access/caller.ts';
import type { Scope } from '../../domain/access/scope.ts';
import { groupText, type Limit } from '../../domain/budget/limit.ts';
import type { GroupInWave } from '../../domain/rollout/estimate.ts';
import { allowedOf } from '../../domain/rollout/spec/amount.ts';
import type { RolloutSpec } from '../../domain/rollout/spec/rollout-spec.ts';
import { takesOutOfService } from '../../domain/rollout/spec/step-type.ts';
import type { GroupUse } from '../../store/budgets/group-sql.ts';
import { groupsInWaves } from '../../store/budgets/groups-in-waves.ts';
import { unavailableByGroup } from '../../store/budgets/unavailable-by-group.ts';
import { type LimitDependencies, type LimitUse, limitsFor, limitUseOf } from './limit-use.ts';

const MAX_OCCUPANTS = 20;
/** To a caller with a scope. */
const OTHERS_COUNT = ' of your machines, and those of others count, too';

export interface PreviewLimit {
  readonly use: LimitUse;
  /** Machines that occupy the group now. */
  readonly occupiedBy: readonly string[];
  readonly message: string;
}

/** The groups of all limits, by the wave. */
export type GroupsOfWave = ReadonlyMap<number, readonly GroupInWave[]>;

interface LimitsCall {
  readonly spec: RolloutSpec;
  /** Those that have a wave. */
  readonly machines: readonly { readonly machineId: string; readonly wave: number }[];
  readonly caller: Pick<Caller, 'scope'>;
}

export async function previewLimits(
  dependencies: LimitDependencies,
  { spec, machines, caller: { scope } }: LimitsCall,
): Promise<{ readonly limits: readonly PreviewLimit[]; readonly groups: GroupsOfWave }> {
  const groups = new Map<number, GroupInWave[]>();
  const parallel = parallelLimit(spec, machines.length);
  const found: PreviewLimit[] = parallel ? [parallel] : [];
  if (machines.length === 0 || !takesOutOfService(spec.steps)) return { limits: found, groups };
  return dependencies.database.snapshot(async (session) => {
    for (const limit of await limitsFor(session, dependencies.budgets, { rolloutId: '', spec })) {
      const members = await groupsInWaves(session, limit, machines);
      if (members.length === 0) continue;
      const names = [...new Set(members.map(({ group }) => group))];
      const request = { scope, maxOccupants: MAX_OCCUPANTS, groups: new Map([[limit, names]]) };
      const [uses = []] = await unavailableByGroup(session, [limit], request);
      const byGroup = new Map(uses.map((use) => [use.group, use]));
      for (const { wave, group, machines: count } of members) {
        const allowed = byGroup.get(group)?.allowed;
        // A group without a machine that was ever in service is not limited.
        if (allowed !== undefined)
          groups.set(wave, [...(groups.get(wave) ?? []), { machines: count, allowed }]);
      }
      const [fullest] = uses;
      if (fullest) found.push(limitOf(limit, uses, fullest, scope));
    }
    return { limits: found, groups };
  });
}

function parallelLimit({ maxParallel }: RolloutSpec, machines: number): PreviewLimit | null {
  if (maxParallel === null) return null;
  const limit = allowedOf(maxParallel, machines);
  return {
    use: { name: 'max_parallel', kind: 'max_parallel', group: '', used: 0, limit },
    occupiedBy: [],
    message: `at most ${limit} of ${machines} machines at once`,
  };
}

function limitOf(
  limit: Limit,
  uses: readonly GroupUse[],
  fullest: GroupUse,
  scope: Scope | null,
): PreviewLimit {
  return {
    use: limitUseOf(limit, fullest, scope),
    occupiedBy: fullest.occupants.map(({ machineId }) => machineId),
    message: sentenceOf(limit, uses, fullest, scope),
  };
}

function sentenceOf(limit: Limit, uses: readonly GroupUse[], fullest: GroupUse, scope: Scope | null): string {
  const full = uses.filter(({ isFull }) => isFull).length;
  const where = groupText(limit, fullest.group);
  const state = `${fullest.unavailable} of at most ${fullest.allowed} unavailable${where && ` in ${where}`}${scope === null ? '' : OTHERS_COUNT}`;
  if (full === 0) return `room is left everywhere; the fullest has ${state}`;
  if (uses.length === 1) return `${state}: the rollout waits until a machine is back in service`;
  return `${full} of ${uses.length} groups are full, such as ${where || 'the fleet'} with ${state}: their machines wait`;
}
