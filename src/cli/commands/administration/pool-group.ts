import { Command } from 'commander';
import { METRIC_NAMES, type METRICS } from '../../../domain/agent/agent.ts';
import { metricText } from '../../../domain/agent/metric-text.ts';
import { type Pool, PoolSchema } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addListing, addOutput, addReason } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';
import { writePool } from '../../rendering/pool-rendering.ts';

const count = ({ machines }: Pool, presence: string): string => String(machines[presence] ?? 0);

const COLUMNS: readonly Column<Pool>[] = [
  { header: 'POOL', cell: ({ name }) => name },
  {
    header: 'HEALTH',
    stays: 'longest',
    cell: ({ healthy }) => (healthy ? 'healthy' : 'degraded'),
    colour: ({ healthy }) => (healthy ? 'green' : 'yellow'),
  },
  {
    header: 'SCHEDULABLE',
    stays: 'longest',
    cell: ({ schedulable, total }) => `${schedulable}/${total}`,
    colour: ({ schedulable, total }) => (schedulable < total ? 'yellow' : undefined),
  },
  { header: 'READY', cell: (pool) => count(pool, 'ready') },
  { header: 'REGISTERED', cell: (pool) => count(pool, 'registered') },
  { header: 'PENDING', cell: (pool) => count(pool, 'pending') },
  { header: 'EXPIRED', cell: (pool) => count(pool, 'expired'), stays: 'longest' },
];

const metricColumn = (header: string, name: keyof typeof METRICS): Column<Pool> => ({
  header,
  cell: ({ metrics }) => metricText(name, metrics[name]),
});

const GPUS_COLUMN: Column<Pool> = {
  header: 'GPUS',
  cell: ({ gpus }) => gpus.map(({ model, schedulable }) => `${schedulable} × ${model}`).join(', '),
};

const POOLS: Rendering<Pool> = {
  json: (pool) => jsonOf(PoolSchema, pool),
  name: ({ name }) => name,
  columns: [
    ...COLUMNS,
    metricColumn('CPU', 'total_cpu_available'),
    metricColumn('CPU_USED', 'cpu_utilization_pct'),
    metricColumn('MEMORY', 'total_memory_available'),
    metricColumn('MEMORY_USED', 'memory_utilization_pct'),
    metricColumn('FREE_GPUS', 'free_gpu_count'),
    GPUS_COLUMN,
  ],
  wideColumns: [
    ...COLUMNS,
    ...METRIC_NAMES.map((name) => metricColumn(name.toUpperCase(), name)),
    GPUS_COLUMN,
  ],
};

export function poolGroup(context: CommandContext): Command {
  return new Command('pool')
    .description('Worker pools: create, list and show')
    .addCommand(createPool(context))
    .addCommand(listPools(context))
    .addCommand(showPool(context), { isDefault: true });
}

function createPool(context: CommandContext): Command {
  const command = new Command('create').description('Create a pool (admin)').argument('<name>');
  return addOutput(addReason(command)).action(
    context.action<{ output: OutputFormat }>(async ({ args: [name = ''], options, api }) => {
      const pool = await api.admin.createPool({ name });
      writeOne(context.out, options.output, POOLS, pool, () =>
        context.out.line(`created pool ${plainText(pool.name)}`),
      );
      return 'ok';
    }),
  );
}

function listPools(context: CommandContext): Command {
  const command = new Command('list')
    .description("Show each pool's health, its machines by presence, and the sums of their metrics")
    .addHelpText(
      'after',
      `
SCHEDULABLE is the number of schedulable machines out of all. A pool is healthy with at least one.
Metrics and GPUs are those of the schedulable machines: sums, and averages of percentages.`,
    );
  return addListing(command, POOLS).action(
    context.action<ListingOptions>(async ({ options, api }) => {
      const { pools } = await api.admin.listPools({});
      const none = `no pools yet; create one: ${context.program} pool create <name>`;
      return writeListing(context, options, POOLS, [pools], none);
    }),
  );
}

function showPool(context: CommandContext): Command {
  const command = new Command('show')
    .description('Show one pool: its capacity, and why its other machines are not schedulable')
    .argument('<name>')
    .addHelpText(
      'after',
      `
CPU, memory and GPUs have two figures: the schedulable machines, and all machines. The reasons are the values of the filter
field unschedulable_reason, so \`machine list --filter 'pool=gpu AND unschedulable_reason=draining'\` names
the machines.`,
    );
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [name = ''], options, api }) => {
      const pool = await api.admin.getPool({ name });
      writeOne(context.out, options.output, POOLS, pool, () => writePool(context.out, pool));
      return 'ok';
    }),
  );
}
