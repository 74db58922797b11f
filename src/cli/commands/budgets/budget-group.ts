/** Disruption budgets: list with their use now, create, delete (docs/budgets.md). */
import { Command } from 'commander';
import {
  type Budget,
  BudgetSchema,
  type GroupUse,
} from '../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addExamples, addListing, addOutput, addReason } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';
import { showCommand } from '../show-from-list.ts';

const COLUMNS: readonly Column<Budget>[] = [
  { header: 'BUDGET', cell: ({ name }) => name },
  { header: 'FILTER', cell: ({ filter }) => filter },
  { header: 'GROUP_BY', cell: ({ groupBy }) => groupBy },
  { header: 'MAX_UNAVAILABLE', cell: ({ maxUnavailable }) => maxUnavailable, stays: 'longest' },
  {
    header: 'USED',
    cell: usedText,
    colour: (budget) => (isFull(budget) ? 'yellow' : undefined),
    stays: 'longest',
  },
  { header: 'WORST_GROUP', cell: worstText, stays: 'longest' },
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
    .addCommand(showBudget(context), { isDefault: true })
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
  return addListing(command, BUDGETS).action(
    context.action<ListingOptions>(async ({ options, api }) => {
      const { budgets } = await api.rollouts.listBudgets({});
      const none = `no budgets yet; create one: ${context.program} budget create <name> --max-unavailable 1`;
      return writeListing(context, options, BUDGETS, [budgets], none);
    }),
  );
}

function showBudget(context: CommandContext): Command {
  return showCommand(context, {
    noun: 'budget',
    rendering: BUDGETS,
    list: async (api) => (await api.rollouts.listBudgets({})).budgets,
  });
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
  return addOutput(addReason(command)).action(
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
  const command = new Command('delete')
    .alias('remove')
    .description('Delete a budget (admin)')
    .argument('<name>');
  return addOutput(addReason(command)).action(
    context.action<{ output: OutputFormat }>(async ({ args: [name = ''], options, api }) => {
      const budget = await api.rollouts.deleteBudget({ name });
      writeOne(context.out, options.output, BUDGETS, budget, () =>
        context.out.line(`deleted budget ${plainText(budget.name)}`),
      );
      return 'ok';
    }),
  );
}
