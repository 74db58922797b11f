/** Stored disruption budgets. */
import type { Acting } from '../../domain/access/caller.ts';
import { parseScope, type Scope } from '../../domain/access/scope.ts';
import { actorLabel } from '../../domain/actor.ts';
import { type Budget, type BudgetRule, limitOfBudget } from '../../domain/budget/budget.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Database, Session } from '../database/database.ts';
import { recordChange } from '../events/record-change.ts';
import { preparedAs, readableIn } from '../filter/scope-condition.ts';
import { checkOwned, notAvailable, type OwnedRow, termsOf } from '../owned-records.ts';
import { LOCK_BUDGETS } from './budget-lock.ts';

interface BudgetRow extends OwnedRow, Record<string, unknown> {
  budget_name: string;
  filter: string;
  group_by: string;
  max_unavailable: string;
  created_by: string;
  created_at: Date;
  scope: string;
}

const COLUMNS = 'budget_name, filter, group_by, max_unavailable, created_by, created_at, scope, scope_terms';

function budgetOf(row: BudgetRow): Budget {
  const rule = {
    name: row.budget_name,
    filter: row.filter,
    groupBy: row.group_by,
    maxUnavailable: row.max_unavailable,
  };
  return {
    ...rule,
    source: 'api',
    createdBy: row.created_by,
    createdAt: row.created_at,
    limit: limitOfBudget(rule, parseScope(row.scope)),
  };
}

/** All of them, for the check of starts. */
export async function readBudgets(session: Session): Promise<Budget[]> {
  const rows = await session.run<BudgetRow>(
    'read-budgets',
    `SELECT ${COLUMNS} FROM budgets ORDER BY budget_name`,
  );
  return rows.map(budgetOf);
}

/** Those that a caller with this scope may read. */
export async function listBudgets(session: Session, scope: Scope | null): Promise<Budget[]> {
  const readable = readableIn(scope, 1);
  const rows = await session.run<BudgetRow>(
    preparedAs('list-budgets', scope),
    `SELECT ${COLUMNS} FROM budgets WHERE ${readable.text} ORDER BY budget_name`,
    [...readable.values],
  );
  return rows.map(budgetOf);
}

export async function createBudget(
  database: Database,
  rule: BudgetRule,
  { actor, scope }: Acting,
): Promise<Budget> {
  return database.transaction(async (session) => {
    await session.run('lock-budgets', `SELECT ${LOCK_BUDGETS}`);
    const [row] = await session.run<BudgetRow>(
      'create-budget',
      `INSERT INTO budgets (budget_name, filter, group_by, max_unavailable, created_by, scope, scope_terms)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
      [
        rule.name,
        rule.filter,
        rule.groupBy,
        rule.maxUnavailable,
        actorLabel(actor),
        scope?.text ?? '',
        termsOf(scope),
      ],
    );
    if (!row) throw await nameTaken(session, rule.name, scope);
    await recordChange(session, { kind: 'budget', subject: rule.name, to: 'created', actor, after: rule });
    return budgetOf(row);
  });
}

export function budgetExists(name: string): Fault {
  return new Fault('BUDGET_EXISTS', {
    message: `there is a budget named ${name} already`,
    metadata: { budget: name },
  });
}

async function nameTaken(session: Session, name: string, scope: Scope | null): Promise<Fault> {
  const isReadable = (await listBudgets(session, scope)).some((budget) => budget.name === name);
  return scope === null || isReadable ? budgetExists(name) : notAvailable(`budget ${name}`, scope);
}

/** Returns the budget as it was. */
export async function deleteBudget(
  database: Database,
  name: string,
  { actor, scope }: Acting,
): Promise<Budget> {
  return database.transaction(async (session) => {
    const readable = readableIn(scope, 2);
    const [row] = await session.run<BudgetRow>(
      preparedAs('delete-budget', scope),
      `DELETE FROM budgets WHERE budget_name = $1 AND ${readable.text} RETURNING ${COLUMNS}`,
      [name, ...readable.values],
    );
    if (!row) throw budgetNotFound(name);
    checkOwned(`budget ${name}`, row, scope);
    const { filter, groupBy, maxUnavailable, ...budget } = budgetOf(row);
    const before = { name, filter, groupBy, maxUnavailable };
    await recordChange(session, { kind: 'budget', subject: name, to: 'deleted', actor, before });
    return { ...budget, filter, groupBy, maxUnavailable };
  });
}

function budgetNotFound(name: string): Fault {
  return new Fault('BUDGET_NOT_FOUND', {
    message: `there is no budget ${JSON.stringify(name.slice(0, 80))}`,
    metadata: { budget: name.slice(0, 80) },
  });
}
