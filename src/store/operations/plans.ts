/** Stored plans. The default plans are in the code (src/domain/operation/plan.ts). */
import { isDeepStrictEqual } from 'node:util';
import type { Acting } from '../../domain/access/caller.ts';
import type { Scope } from '../../domain/access/scope.ts';
import { actorLabel } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Plan, PlanStep } from '../../domain/operation/plan.ts';
import { runIdOf } from '../../domain/v1/run-id.ts';
import type { Database, Session } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import { changeEvent } from '../events/record-change.ts';
import { inScope, preparedAs, readableIn } from '../filter/scope-condition.ts';
import type { Page, PageRequest } from '../machines/list.ts';
import { checkOwned, type OwnedRow, termsOf } from '../owned-records.ts';

interface PlanRow extends OwnedRow {
  plan_id: string;
  display_name: string;
  steps: PlanStep[];
}

function planOf(row: PlanRow): Plan {
  return { planId: row.plan_id, displayName: row.display_name, steps: row.steps };
}

const COLUMNS = 'plan_id, display_name, steps, scope_terms';

/** Null: there is none that a caller with this scope may read. */
export async function findPlan(session: Session, planId: string, scope: Scope | null): Promise<Plan | null> {
  const readable = readableIn(scope, 2);
  const [row] = await session.run<PlanRow & Record<string, unknown>>(
    preparedAs('find-plan', scope),
    `SELECT ${COLUMNS} FROM plans WHERE plan_id = $1 AND ${readable.text}`,
    [planId, ...readable.values],
  );
  return row ? planOf(row) : null;
}

export interface LockedPlan {
  readonly plan: Plan;
  /** A caller with all of these terms in its scope may read it. */
  readonly scopeTerms: readonly string[];
}

/** Locks plans, so that they can't be replaced before the transaction ends. */
export async function lockPlans(session: Session, ids: readonly string[]): Promise<Map<string, LockedPlan>> {
  if (ids.length === 0) return new Map();
  const rows = await session.run<PlanRow & Record<string, unknown>>(
    'lock-plans',
    `SELECT ${COLUMNS} FROM plans WHERE plan_id = ANY($1) ORDER BY plan_id FOR SHARE`,
    [[...new Set(ids)]],
  );
  return new Map(rows.map((row) => [row.plan_id, { plan: planOf(row), scopeTerms: row.scope_terms }]));
}

export type PlanPage = Omit<PageRequest<Plan>, 'filter'>;

export async function listPlans(session: Session, { after, size, scope }: PlanPage): Promise<Page<Plan>> {
  const readable = readableIn(scope, 3);
  const rows = await session.run<PlanRow & Record<string, unknown>>(
    preparedAs('list-plans', scope),
    `SELECT ${COLUMNS} FROM plans WHERE plan_id > $1 AND ${readable.text} ORDER BY plan_id LIMIT $2`,
    [after, size + 1, ...readable.values],
  );
  const page = rows.slice(0, size).map(planOf);
  return { rows: page, next: rows.length > size ? (page.at(-1)?.planId ?? null) : null };
}

/**
 * Stores plans, or replaces those that no operation references yet: all of them or none. The same content again is accepted
 * at any time. A row is locked while its references are searched, and a start locks the plan that it references: so an
 * operation always has the steps of the plan that it names.
 */
export async function savePlans(database: Database, plans: readonly Plan[], acting: Acting): Promise<void> {
  // Always in the same order, so that two calls with the same plans can't deadlock.
  const inOrder = plans.toSorted((one, other) => (one.planId < other.planId ? -1 : 1));
  await database.transaction(async (session) => {
    const events: NewEvent[] = [];
    for (const plan of inOrder) events.push(...(await savePlan(session, plan, acting)));
    await appendEvents(session, events);
  });
}

/** Returns what changed: nothing, when the same plan is stored already. */
async function savePlan(session: Session, plan: Plan, { actor, scope }: Acting): Promise<NewEvent[]> {
  const inserted = await session.run(
    'insert-plan',
    `INSERT INTO plans (plan_id, display_name, steps, created_by, scope_terms) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (plan_id) DO NOTHING RETURNING plan_id`,
    [plan.planId, plan.displayName, JSON.stringify(plan.steps), actorLabel(actor), termsOf(scope)],
  );
  const change = { kind: 'plan', subject: plan.planId, actor, after: plan } as const;
  if (inserted.length > 0) return [changeEvent({ ...change, to: 'created' })];
  const [row] = await session.run<PlanRow & Record<string, unknown>>(
    'lock-plan',
    `SELECT ${COLUMNS} FROM plans WHERE plan_id = $1 FOR UPDATE`,
    [plan.planId],
  );
  checkOwned(`plan ${plan.planId}`, row, scope);
  if (row && isDeepStrictEqual(JSON.parse(JSON.stringify(plan)), planOf(row))) return [];
  await checkUnreferenced(session, plan.planId, scope);
  await session.run('replace-plan', 'UPDATE plans SET display_name = $2, steps = $3 WHERE plan_id = $1', [
    plan.planId,
    plan.displayName,
    JSON.stringify(plan.steps),
  ]);
  return [changeEvent({ ...change, to: 'replaced', before: row && planOf(row) })];
}

/** A run on a machine outside of the scope is not named. */
async function checkUnreferenced(session: Session, planId: string, scope: Scope | null): Promise<void> {
  const { text, values } = inScope(scope, 'machine_id', 2);
  const [reference] = await session.run<{ operation_id: string; visible: boolean }>(
    preparedAs('plan-reference', scope),
    `SELECT operation_id, ${text} AS visible FROM operations WHERE plan_id = $1 ORDER BY operation_id DESC LIMIT 1`,
    [planId, ...values],
  );
  if (reference) throw planReferenced(planId, reference.visible ? reference.operation_id : '');
}

/** Only runs reference plans, so the message has the id of a run. */
function planReferenced(planId: string, operationId: string): Fault {
  const runId = operationId === '' ? 'a run' : runIdOf(operationId);
  return new Fault('PLAN_REFERENCED', {
    message: `plan ${planId} was referenced by ${runId} and can't change any more; use a new plan_id`,
    metadata: { plan_id: planId, ...(operationId !== '' && { operation_id: operationId, run_id: runId }) },
    violations: [{ subject: `plans/${planId}`, description: `is referenced by ${runId}` }],
  });
}
