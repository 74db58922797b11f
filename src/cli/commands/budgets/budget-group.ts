/** Disruption budgets: list with their use now, create, delete (docs/budgets.md). */
import { Command } from 'commander';
import {
  type Budget,
  BudgetSchema,
  type GroupUse,
} from '../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addExamples, addOutput } from '../../input/options.ts';
import {
  isForPeople,
  jsonOf,
  type OutputFormat,
  type Rendering,
  writeList,
  writeOne,
} from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';

const COLUMNS: readonly Column<Budget>[] = [
  { header: 'BUDGET', cell: ({ name }) => name },
  { header: 'FILTER', cell: ({ filter }) => filter },
  { header: 'GROUP_BY', cell: ({ groupBy }) => groupBy },
  { header: 'MAX_UNAVAILABLE', cell: ({ maxUnavailable }) => maxUnavailable },
  { header: 'USED', cell: usedText, colour: (budget) => (isFull(budget) ? 'yellow' : undefined) },
  { header: 'WORST_GROUP', cell: worstText },
  { header: 'SOURCE', cell: ({ source }) => source },
];

const BUDGETS: Rendering<Budget> = {
  json: (budget) => jsonOf(BudgetSchema, budget),
  name: ({ name }) => name,
  columns: COLUMNS,
  wideColumns: [
    ...COLUMNS,
    { header: 'CREATED_BY', cell: ({ createdBy }) => createdBy },
    { header: 'UNAVAILABLE', cell: ({ groups }) => groups[0]?.machineIds.join(', ') ?? '' },
  ],
};

/** The server answers the group with the least left first. */
function worst({ groups }: Budget): GroupUse | undefined {
  return groups[0];
}

function isFull(budget: Budget): boolean {
  const group = worst(budget);
  return group !== undefined && group.unavailable >= group.limit;
}

function usedText(budget: Budget): string {
  const group = worst(budget);
  return group === undefined ? '0' : `${group.unavailable}/${group.limit}`;
}

function worstText(budget: Budget): string {
  const group = worst(budget);
  if (group === undefined || budget.groupBy === '') return '';
  return group.group === '' ? '(none)' : group.group;
}

export function budgetGroup(context: CommandContext): Command {
  return new Command('budget')
    .description('Disruption budgets: how many machines of a group may be unavailable at once')
    .addCommand(listBudgets(context))
    .addCommand(createBudget(context))
    .addCommand(deleteBudget(context));
}

function listBudgets(context: CommandContext): Command {
  const command = new Command('list')
    .description('List the budgets and how much of each is used now')
    .addHelpText(
      'after',
      `
USED is unavailable machines out of those allowed, in the group that has the least left, which WORST_GROUP names. (none) are
the machines without a value of the field. -o wide also names the unavailable machines of that group, -o json all groups.`,
    );
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ options, api }) => {
      const { budgets } = await api.rollouts.listBudgets({});
      const written = await writeList(context.out, options.output, BUDGETS, [budgets]);
      if (written === 0 && isForPeople(options.output))
        context.err.line(
          `no budgets yet; create one: ${context.program} budget create <name> --max-unavailable 1`,
        );
      return 'ok';
    }),
  );
}

interface CreateOptions {
  readonly output: OutputFormat;
  readonly filter?: string;
  readonly groupBy?: string;
  readonly maxUnavailable: string;
}

function createBudget(context: CommandContext): Command {
  const command = new Command('create')
    .description('Create a budget (admin)')
    .argument('<name>')
    .requiredOption(
      '--max-unavailable <amount>',
      'a number of machines, or a percentage of the group, such as 10%',
    )
    .option('--filter <filter>', 'which machines count, by labels, spec, pool or machine_id (default: all)')
    .option(
      '--group-by <field>',
      'location.rack, location.site, pool, customer_id, labels.<name>, … (default: one group)',
    );
  addExamples(command, context.program, [
    `budget create racks --filter labels.role=web --group-by location.rack --max-unavailable 1`,
  ]);
  return addOutput(command).action(
    context.action<CreateOptions>(async ({ args: [name = ''], options, api }) => {
      const { filter = '', groupBy = '', maxUnavailable } = options;
      const budget = await api.rollouts.createBudget({ budget: { name, filter, groupBy, maxUnavailable } });
      writeOne(context.out, options.output, BUDGETS, budget, () =>
        context.out.line(`created budget ${plainText(budget.name)}`),
      );
      return 'ok';
    }),
  );
}

function deleteBudget(context: CommandContext): Command {
  const command = new Command('delete').description('Delete a budget (admin)').argument('<name>');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [name = ''], options, api }) => {
      const budget = await api.rollouts.deleteBudget({ name });
      writeOne(context.out, options.output, BUDGETS, budget, () =>
        context.out.line(`deleted budget ${plainText(budget.name)}`),
      );
      return 'ok';
    }),
  );
}
