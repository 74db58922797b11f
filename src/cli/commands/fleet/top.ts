/** A live view of the fleet in the terminal: counts, what needs attention, what is under way. */
import { Command } from 'commander';
import { messageHeadline } from '../../../client/message-headline.ts';
import type { Machine } from '../../../gen/baremetal/v2/machine_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { repeat } from '../../display/repeat.ts';
import { OPERATIONS } from '../../operations/v2-operations.ts';
import type { Colour } from '../../output/colour.ts';
import { displayWidth } from '../../output/plain-text.ts';
import { Table } from '../../output/table.ts';
import type { TextSink } from '../../output/text-sink.ts';
import { clockOf } from '../../output/time-text.ts';
import { operationRendering } from '../../rendering/operation-rendering.ts';

/** Lines that are not rows of the two tables. */
const FRAME_LINES = 11;

export function topCommand(context: CommandContext): Command {
  return new Command('top')
    .description(
      'Show a live view of the fleet, until Ctrl-C: counts, what needs attention, what is under way',
    )
    .option('--once', 'show it once, and end')
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
  writeParts(out, [
    { text: `${clockOf(now)}  ${api.address}` },
    { text: `${overview.machines} machines` },
    ...states.map(({ value, machines }) => ({ text: `${value} ${machines}` })),
  ]);
  writeParts(out, [
    { text: `failed or blocked ${failed}`, colour: failed > 0 ? 'red' : undefined },
    { text: `not as it should be ${warned}`, colour: warned > 0 ? 'orange' : undefined },
    { text: `operations stalled ${stalled}`, colour: stalled > 0 ? 'orange' : undefined },
    { text: `agents ready ${overview.agentsReady}, lost ${overview.agentsLost}` },
  ]);
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

/** On as many lines as they need. */
function writeParts(
  out: TextSink,
  parts: readonly { readonly text: string; readonly colour?: Colour | undefined }[],
): void {
  let used = 0;
  let line = '';
  for (const { text, colour } of parts) {
    const width = displayWidth(text);
    if (line !== '' && out.isTerminal && used + width + 2 > out.columns) {
      out.line(line);
      [line, used] = ['', 0];
    }
    line = line === '' ? out.colour(text, colour) : `${line}  ${out.colour(text, colour)}`;
    used += (used === 0 ? 0 : 2) + width;
  }
  out.line(line);
}
