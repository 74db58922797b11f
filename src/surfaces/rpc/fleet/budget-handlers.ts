/** Disruption budgets: of the configuration, which only the file changes, and of the API. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Scope } from '../../../domain/access/scope.ts';
import { type Budget, limitOfBudget } from '../../../domain/budget/budget.ts';
import { Fault, missingField } from '../../../domain/error/fault.ts';
import { checkText } from '../../../domain/machine/machine-input.ts';
import type { BudgetSchema, RolloutService } from '../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { budgetExists, createBudget, deleteBudget, listBudgets } from '../../../store/budgets/budgets.ts';
import type { GroupUse } from '../../../store/budgets/group-sql.ts';
import { unavailableByGroup } from '../../../store/budgets/unavailable-by-group.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';

const MAX_GROUPS = 20;
const MAX_OCCUPANTS = 20;
const MAX_FIELD = 200;
const MAX_FILTER = 2_000;

type BudgetDependencies = Pick<ServerDependencies, 'database' | 'budgets'>;

export function budgetHandlers(
  dependencies: BudgetDependencies,
): Pick<Handlers<typeof RolloutService>, 'createBudget' | 'listBudgets' | 'deleteBudget'> {
  const configured = () => dependencies.budgets.configured;
  return {
    async createBudget({ budget }, { caller }) {
      if (!budget) throw missingField('budget');
      const rule = {
        name: budget.name,
        filter: checkText(budget.filter, 'filter', MAX_FILTER).trim(),
        groupBy: checkText(budget.groupBy, 'group_by', MAX_FIELD).trim(),
        maxUnavailable: checkText(budget.maxUnavailable, 'max_unavailable', MAX_FIELD).trim(),
      };
      limitOfBudget(rule, caller.scope);
      if (configured().some(({ name }) => name === rule.name)) throw budgetExists(rule.name);
      const created = await createBudget(dependencies.database, rule, caller);
      const [use = []] = await unavailableByGroup(dependencies.database, [created.limit], {
        scope: caller.scope,
        maxOccupants: MAX_OCCUPANTS,
      });
      return budgetMessage(created, use);
    },

    async listBudgets(_request, { caller: { scope } }) {
      return dependencies.database.snapshot(async (session) => {
        const budgets = [...configured(), ...(await listBudgets(session, scope))];
        const uses = await unavailableByGroup(
          session,
          budgets.map(({ limit }) => limit),
          { scope, maxOccupants: MAX_OCCUPANTS },
        );
        const shown = budgets.flatMap((budget, index) => {
          const use = uses[index] ?? [];
          return isShown(budget, use, scope) ? [budgetMessage(budget, use)] : [];
        });
        return { budgets: shown };
      });
    },

    async deleteBudget({ name }, { caller }) {
      if (name === '') throw missingField('name');
      if (configured().some((budget) => budget.name === name)) throw budgetConfigured(name);
      return budgetMessage(
        await deleteBudget(dependencies.database, checkText(name, 'name', MAX_FIELD), caller),
        [],
      );
    },
  };
}

/** A budget of the whole fleet may be that of another tenant by its filter: a caller with a scope sees those that bind its machines. */
function isShown({ limit }: Budget, use: readonly GroupUse[], scope: Scope | null): boolean {
  return scope === null || limit.scopeTerms.length > 0 || use.length > 0;
}

function budgetConfigured(name: string): Fault {
  return new Fault('BUDGET_CONFIGURED', {
    message: `budget ${name} is of the configuration file; change it there`,
    metadata: { budget: name },
    violations: [{ subject: `budgets/${name}`, description: 'is of the configuration file' }],
  });
}

function budgetMessage(budget: Budget, use: readonly GroupUse[]): MessageInitShape<typeof BudgetSchema> {
  return {
    name: budget.name,
    filter: budget.filter,
    groupBy: budget.groupBy,
    maxUnavailable: budget.maxUnavailable,
    source: budget.source,
    createdBy: budget.createdBy,
    ...(budget.createdAt && { createdAt: timestampFromDate(budget.createdAt) }),
    groups: use.slice(0, MAX_GROUPS).map(({ group, unavailable, allowed, machines, occupants }) => ({
      group,
      unavailable,
      limit: allowed,
      machines,
      machineIds: occupants.map(({ machineId }) => machineId),
    })),
  };
}
