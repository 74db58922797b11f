/** A live view of the fleet in the terminal: counts, what needs attention, what is under way. */
import { Command } from 'commander';
import { messageHeadline } from '../../../client/message-headline.ts';
import type { Machine } from '../../../gen/baremetal/v2/machine_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { repeat } from '../../display/repeat.ts';
import { OPERATIONS } from '../../operations/v2-operations.ts';
import { Table } from '../../output/table.ts';
import { operationRendering } from '../../rendering/operation-rendering.ts';

/** Lines that are not rows of the two tables. */
const FRAME_LINES = 9;

export function topCommand(context: CommandContext): Command {
  return new Command('top')
    .description('A live view of the fleet, until Ctrl-C: counts, what needs attention, what is under way')
    .option('--once', 'write it once')
    .action(
      context.action<{ once?: true }>(async ({ options, api }) => {
        if (!options.once) return repeat(context, () => writeView(context, api));
        await writeView(context, api);
        return 'ok';
      }),
    );
}

async function writeView(context: CommandContext, api: Api): Promise<void> {
  const { out } = context;
  const rows = Math.max(3, Math.floor((out.rows - FRAME_LINES) / 2));
  const [overview, troubled, running] = await Promise.all([
    api.fleet.getOverview({}),
    api.machines.listMachines({ filter: 'needs_attention=true', pageSize: rows }),
    OPERATIONS.list(api, { filter: 'phase=RUNNING', pageSize: rows, pageToken: '' }),
  ]);
  const now = context.now();
  const { machinesFailed: failed, machinesWarned: warned, operationsStalled: stalled } = overview;
  const states = overview.facets.find(({ field }) => field === 'effective_state')?.values ?? [];
  out.line(
    `${overview.machines} machines  ${states.map(({ value, machines }) => `${value} ${machines}`).join('  ')}`,
  );
  out.line(
    [
      out.colour(`failed ${failed}`, failed > 0 ? 'red' : undefined),
      out.colour(`not as it should be ${warned}`, warned > 0 ? 'orange' : undefined),
      out.colour(`operations stalled ${stalled}`, stalled > 0 ? 'orange' : undefined),
      `agents ready ${overview.agentsReady}, lost ${overview.agentsLost}`,
    ].join('  '),
  );
  out.line('\nNeeds attention:');
  writeTroubled(context, troubled.machines, now);
  out.line('\nUnder way:');
  if (running.items.length === 0) out.line('nothing');
  else new Table(out, operationRendering(OPERATIONS, now).columns).write(running.items);
}

function writeTroubled({ out }: CommandContext, machines: readonly Machine[], now: number): void {
  if (machines.length === 0) {
    out.line('nothing');
    return;
  }
  new Table<Machine>(out, [
    { header: 'MACHINE_ID', cell: ({ machineId }) => machineId },
    {
      header: 'STATE',
      cell: (machine) => messageHeadline(machine, now).text,
      colour: (machine) => messageHeadline(machine, now).colour,
    },
  ]).write(machines);
}
