/** How much of each limit and budget of a rollout is used right now: of each the group that has the least left. */
import { hasTerms, type Scope } from '../../domain/access/scope.ts';
import { type Limit, limitsOfRollout } from '../../domain/budget/limit.ts';
import type { Rollout } from '../../domain/rollout/rollout.ts';
import { isEnded, machinesIn } from '../../domain/rollout/rollout-state.ts';
import { allowedOf } from '../../domain/rollout/spec/amount.ts';
import { takesOutOfService } from '../../domain/rollout/spec/step-type.ts';
import type { BudgetBook } from '../../store/budgets/budget-book.ts';
import { listBudgets } from '../../store/budgets/budgets.ts';
import type { GroupUse } from '../../store/budgets/group-sql.ts';
import { unavailableByGroup } from '../../store/budgets/unavailable-by-group.ts';
import type { Database, Session } from '../../store/database/database.ts';
import { groupsOfRollout } from '../../store/rollouts/groups-of-rollout.ts';

export interface LimitUse {
  readonly name: string;
  readonly kind: 'budget' | 'limit' | 'max_parallel';
  /** The group that is fullest. */
  readonly group: string;
  readonly used: number;
  readonly limit: number;
}

export interface LimitDependencies {
  readonly database: Database;
  readonly budgets: Pick<BudgetBook, 'configured'>;
}

/** None for a rollout that has ended: it uses nothing. */
export async function limitsInUse(
  { database, budgets }: LimitDependencies,
  rollout: Rollout,
  scope: Scope | null,
): Promise<LimitUse[]> {
  const { spec, state, rolloutId } = rollout;
  if (isEnded(state)) return [];
  const uses = parallelInUse(rollout);
  if (!takesOutOfService(spec.steps)) return uses;
  return database.snapshot(async (session) => {
    for (const limit of await limitsFor(session, budgets, rollout)) {
      const names = await groupsOfRollout(session, limit, rolloutId);
      if (names.length === 0) continue;
      const request = { scope, maxOccupants: 0, groups: new Map([[limit, names]]) };
      const [[fullest] = []] = await unavailableByGroup(session, [limit], request);
      if (fullest) uses.push(limitUseOf(limit, fullest, scope));
    }
    return uses;
  });
}

/** The limits of its spec, and every budget, also those that the caller may not read: each binds. */
export async function limitsFor(
  session: Session,
  { configured }: LimitDependencies['budgets'],
  { rolloutId, spec }: Pick<Rollout, 'rolloutId' | 'spec'>,
): Promise<Limit[]> {
  const budgets = [...configured, ...(await listBudgets(session, null))];
  return [...limitsOfRollout(rolloutId, spec.limits), ...budgets.map(({ limit }) => limit)];
}

function parallelInUse({ spec: { maxParallel }, machines }: Rollout): LimitUse[] {
  if (maxParallel === null) return [];
  const limit = allowedOf(maxParallel, machinesIn(machines));
  return [{ name: 'max_parallel', kind: 'max_parallel', group: '', used: machines.running, limit }];
}

/** A budget of a scope that the caller does not have is not named. */
export function limitUseOf(
  limit: Limit,
  { group, unavailable, allowed }: GroupUse,
  scope: Scope | null,
): LimitUse {
  const name = limit.kind === 'budget' ? limit.name : (limit.groupBy?.name ?? 'all machines');
  return {
    name: hasTerms(scope, limit.scopeTerms) ? name : 'of another scope',
    kind: limit.kind === 'budget' ? 'budget' : 'limit',
    group,
    used: unavailable,
    limit: allowed,
  };
}
