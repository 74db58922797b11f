/** A disruption budget: a named limit of the configuration or the API that every start obeys (docs/budgets.md). */
import { narrowed, type Scope } from '../access/scope.ts';
import { invalidField, missingField } from '../error/fault.ts';
import { readAmount } from '../rollout/spec/amount-text.ts';
import { groupField, type Limit, membersOf } from './limit.ts';

/** As it was written. */
export interface BudgetRule {
  readonly name: string;
  /** Empty: all machines. */
  readonly filter: string;
  /** Empty: one group. */
  readonly groupBy: string;
  readonly maxUnavailable: string;
}

export interface Budget extends BudgetRule {
  readonly source: 'configuration' | 'api';
  readonly createdBy: string;
  /** Null for one of the configuration. */
  readonly createdAt: Date | null;
  readonly limit: Limit;
}

const BUDGET_NAME = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/i;

/** What a rule limits, inside the scope that it belongs to. Throws a fault that names the field. */
export function limitOfBudget(rule: BudgetRule, scope: Scope | null): Limit {
  if (rule.name === '') throw missingField('name');
  if (!BUDGET_NAME.test(rule.name))
    throw invalidField('name', 'must be 1 to 63 letters, digits, ".", "_" or "-"');
  if (rule.maxUnavailable === '') throw missingField('max_unavailable');
  return {
    name: rule.name,
    kind: 'budget',
    members: narrowed(scope, membersOf(rule.filter, 'filter')),
    groupBy: groupField(rule.groupBy, 'group_by'),
    maxUnavailable: readAmount(rule.maxUnavailable, 'max_unavailable', 0),
    scopeTerms: scope?.terms ?? [],
  };
}

export function configuredBudget(rule: BudgetRule): Budget {
  return {
    ...rule,
    source: 'configuration',
    createdBy: 'system:configuration',
    createdAt: null,
    limit: limitOfBudget(rule, null),
  };
}

/** A start that an admin wants although a budget is exceeded. */
export interface BudgetOverride {
  readonly reason: string;
}
