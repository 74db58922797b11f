/** All plans: the default plans in the code, those from files and those that clients created. */
import type { Acting } from '../../domain/access/caller.ts';
import type { Scope } from '../../domain/access/scope.ts';
import { Fault } from '../../domain/error/fault.ts';
import { DEFAULT_PLANS, type Plan } from '../../domain/operation/plan.ts';
import { RUN_TYPE_NAMES, type RunType } from '../../domain/v1/run-type.ts';
import type { Database } from '../../store/database/database.ts';
import type { Page } from '../../store/machines/list.ts';
import {
  findPlan as findStoredPlan,
  listPlans as listStoredPlans,
  type PlanPage,
  savePlans,
} from '../../store/operations/plans.ts';

const BUILT_IN = new Map<string, Plan>(
  RUN_TYPE_NAMES.map((type) => [DEFAULT_PLANS[type].planId, DEFAULT_PLANS[type]]),
);

/** The run type whose default plan this is; empty for other plans. */
export function defaultFor(planId: string): RunType | '' {
  return RUN_TYPE_NAMES.find((type) => DEFAULT_PLANS[type].planId === planId) ?? '';
}

export function builtInPlan(planId: string): Plan | null {
  return BUILT_IN.get(planId) ?? null;
}

export async function findPlan(
  database: Database,
  planId: string,
  scope: Scope | null,
): Promise<Plan | null> {
  return BUILT_IN.get(planId) ?? (await findStoredPlan(database, planId, scope));
}

/** The default plans first, then the others by id. */
export async function listPlans(database: Database, { after, size, scope }: PlanPage): Promise<Page<Plan>> {
  const builtIn = [...BUILT_IN.values()];
  const at = after === '' ? 0 : builtIn.findIndex((plan) => plan.planId === after) + 1;
  const isPastBuiltIn = after !== '' && at === 0;
  const first = isPastBuiltIn ? [] : builtIn.slice(at, at + size);
  if (first.length === size) return { rows: first, next: first.at(-1)?.planId ?? null };
  const rest = await listStoredPlans(database, {
    after: isPastBuiltIn ? after : '',
    size: size - first.length,
    scope,
  });
  return { rows: [...first, ...rest.rows], next: rest.next };
}

/** Creates all of them or none. */
export async function createPlans(database: Database, plans: readonly Plan[], acting: Acting): Promise<void> {
  const builtIn = plans.find(({ planId }) => BUILT_IN.has(planId));
  if (builtIn) throw planBuiltIn(builtIn.planId);
  await savePlans(database, plans, acting);
}

export async function createPlan(database: Database, plan: Plan, acting: Acting): Promise<Plan> {
  await createPlans(database, [plan], acting);
  return plan;
}

function planBuiltIn(planId: string): Fault {
  return new Fault('PLAN_BUILT_IN', {
    message: `${planId} is a default plan of the server; use another plan_id`,
    metadata: { plan_id: planId },
    violations: [{ subject: `plans/${planId}`, description: 'is a default plan' }],
  });
}

export function planNotFound(planId: string): Fault {
  return new Fault('PLAN_NOT_FOUND', {
    message: `there is no plan ${planId}`,
    metadata: { plan_id: planId },
  });
}
