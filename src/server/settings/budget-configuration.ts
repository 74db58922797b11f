/** `budgets:`, how many machines of a group may be unavailable at once (docs/budgets.md). */
import { z } from 'zod';
import { type Budget, type BudgetRule, configuredBudget } from '../../domain/budget/budget.ts';
import { Fault } from '../../domain/error/fault.ts';

const rule = z.strictObject({
  name: z.string(),
  /** Over what operators write of machines: labels, spec, pool, machine_id. Empty: all. */
  filter: z.string().default(''),
  /** A field of machines, such as location.rack. Empty: one group. */
  group_by: z.string().default(''),
  /** A number, or a percentage of the machines of the group that were in service. */
  max_unavailable: z.union(
    [z.int().min(0), z.string()],
    'must be a number of machines, such as 1, or a percentage, such as 10%',
  ),
});

/** Filters stay text, because the configuration is sent to worker processes; `configuredBudgets` compiles them. */
export const budgetsConfiguration = z
  .array(rule)
  .max(1_000)
  .default([])
  .superRefine((rules, context) => {
    const names = new Set<string>();
    for (const [place, given] of rules.entries()) {
      const problem = names.has(given.name) ? { path: 'name', message: 'is used twice' } : problemOf(given);
      names.add(given.name);
      if (problem)
        context.addIssue({ code: 'custom', path: [place, problem.path], message: problem.message });
    }
  });

type Given = z.output<typeof rule>;

function ruleOf({ name, filter, group_by: groupBy, max_unavailable: max }: Given): BudgetRule {
  return { name, filter, groupBy, maxUnavailable: String(max) };
}

function problemOf(given: Given): { readonly path: string; readonly message: string } | null {
  try {
    configuredBudget(ruleOf(given));
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const [violation] = error.violations;
    return { path: violation?.subject ?? 'name', message: violation?.description ?? error.message };
  }
}

export function configuredBudgets(given: readonly Given[]): Budget[] {
  return given.map((budget) => configuredBudget(ruleOf(budget)));
}
