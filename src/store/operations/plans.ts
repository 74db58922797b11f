/** Stored plans. The default plans are in the code (src/domain/operation/plan.ts). */
import { isDeepStrictEqual } from 'node:util';
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Plan, PlanStep } from '../../domain/operation/plan.ts';
import { runIdOf } from '../../domain/v1/run-id.ts';
import type { Database, Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import { changeEvent } from '../events/record-change.ts';
import type { Page } from '../machines/list.ts';

interface PlanRow {
  plan_id: string;
  display_name: string;
  steps: PlanStep[];
}

function planOf(row: PlanRow): Plan {
  return { planId: row.plan_id, displayName: row.display_name, steps: row.steps };
}

export async function findPlan(session: Session, planId: string): Promise<Plan | null> {
  const [row] = await session.run<PlanRow & Record<string, unknown>>(
    'find-plan',
    'SELECT plan_id, display_name, steps FROM plans WHERE plan_id = $1',
    [planId],
  );
  return row ? planOf(row) : null;
}

/** Locks plans, so that they can't be replaced before the transaction ends. */
export async function lockPlans(session: Session, ids: readonly string[]): Promise<Map<string, Plan>> {
  if (ids.length === 0) return new Map();
  const rows = await session.run<PlanRow & Record<string, unknown>>(
    'lock-plans',
    'SELECT plan_id, display_name, steps FROM plans WHERE plan_id = ANY($1) ORDER BY plan_id FOR SHARE',
    [[...new Set(ids)]],
  );
  return new Map(rows.map((row) => [row.plan_id, planOf(row)]));
}

export async function listPlans(session: Session, after: string, size: number): Promise<Page<Plan>> {
  const rows = await session.run<PlanRow & Record<string, unknown>>(
    'list-plans',
    'SELECT plan_id, display_name, steps FROM plans WHERE plan_id > $1 ORDER BY plan_id LIMIT $2',
    [after, size + 1],
  );
  const page = rows.slice(0, size).map(planOf);
  return { rows: page, next: rows.length > size ? (page.at(-1)?.planId ?? null) : null };
}

/**
 * Stores plans, or replaces those that no operation references yet: all of them or none. The same content again is accepted
 * at any time. A row is locked while its references are searched, and a start locks the plan that it references: so an
 * operation always has the steps of the plan that it names.
 */
export async function savePlans(database: Database, plans: readonly Plan[], actor: Actor): Promise<void> {
  // Always in the same order, so that two calls with the same plans can't deadlock.
  const inOrder = plans.toSorted((one, other) => (one.planId < other.planId ? -1 : 1));
  await database.transaction(async (session) => {
    const events: NewEvent[] = [];
    for (const plan of inOrder) events.push(...(await savePlan(session, plan, actor)));
    await appendEvents(session, events);
  });
}

/** Returns what changed: nothing, when the same plan is stored already. */
async function savePlan(session: Session, plan: Plan, actor: Actor): Promise<NewEvent[]> {
  const inserted = await session.run(
    'insert-plan',
    `INSERT INTO plans (plan_id, display_name, steps, created_by) VALUES ($1, $2, $3, $4)
     ON CONFLICT (plan_id) DO NOTHING RETURNING plan_id`,
    [plan.planId, plan.displayName, JSON.stringify(plan.steps), actorLabel(actor)],
  );
  const change = { kind: 'plan', subject: plan.planId, actor, after: plan } as const;
  if (inserted.length > 0) return [changeEvent({ ...change, to: 'created' })];
  const [row] = await session.run<PlanRow & Record<string, unknown>>(
    'lock-plan',
    'SELECT plan_id, display_name, steps FROM plans WHERE plan_id = $1 FOR UPDATE',
    [plan.planId],
  );
  if (row && isDeepStrictEqual(JSON.parse(JSON.stringify(plan)), planOf(row))) return [];
  const [reference] = await session.run<{ operation_id: string }>(
    'plan-reference',
    'SELECT operation_id FROM operations WHERE plan_id = $1 ORDER BY operation_id DESC LIMIT 1',
    [plan.planId],
  );
  if (reference) throw planReferenced(plan.planId, reference.operation_id);
  await session.run('replace-plan', 'UPDATE plans SET display_name = $2, steps = $3 WHERE plan_id = $1', [
    plan.planId,
    plan.displayName,
    JSON.stringify(plan.steps),
  ]);
  return [changeEvent({ ...change, to: 'replaced', before: row && planOf(row) })];
}

/** Only runs reference plans, so the message has the id of a run. */
function planReferenced(planId: string, operationId: string): Fault {
  const runId = runIdOf(operationId);
  return new Fault('PLAN_REFERENCED', {
    message: `plan ${planId} was referenced by ${runId} and can't change any more; use a new plan_id`,
    metadata: { plan_id: planId, operation_id: operationId, run_id: runId },
    violations: [{ subject: `plans/${planId}`, description: `is referenced by ${runId}` }],
  });
}
