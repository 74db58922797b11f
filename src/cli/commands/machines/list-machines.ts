import { Command } from 'commander';
import type { Machine } from '../../../gen/baremetal/v2/machine_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { repeat } from '../../display/repeat.ts';
import { filterOf, machinePages, type SelectionOptions } from '../../input/machine-selection.ts';
import { addExamples, addFilter, addListing } from '../../input/options.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import { hasNote, machineRendering } from '../../rendering/machine-rendering.ts';
import { addWeb, openList, type WebOption } from '../open-list.ts';

interface ListOptions extends SelectionOptions, ListingOptions, WebOption {
  readonly watch?: true;
}

export function listMachines(context: CommandContext): Command {
  const command = new Command('list').description(
    'Show machines with phase, effective state, conditions, agents',
  );
  addExamples(command, context.program, [
    "list --filter 'phase=READY AND NOT effective_state=BUSY'",
    'list -l rack=r42 -o json',
    'list --filter schedulable=false -o name',
  ]);
  command.option('-w, --watch', 'show the list again every two seconds, until Ctrl-C');
  return addListing(addFilter(addWeb(command)), machineRendering(0, { agents: true, notes: true })).action(
    context.action<ListOptions>(async ({ options, api }) => {
      if (options.web) return openList(context, options, 'machines', filterOf(options));
      if (options.watch) return repeat(context, () => writeMachines(context, api, options));
      await writeMachines(context, api, options);
      return 'ok';
    }),
  );
}

async function writeMachines(context: CommandContext, api: Api, options: ListOptions): Promise<void> {
  const filter = filterOf(options);
  const pages = machinePages(api, filter, askedFor(options));
  const first = await pages.next();
  const agents = first.done !== true && first.value.some(({ status }) => status?.presence !== '');
  const now = context.now();
  const notes = first.done !== true && first.value.some((machine) => hasNote(machine, now));
  const rendering = machineRendering(now, { agents, notes });
  const none =
    filter === '' ? `no machines yet; register some: ${context.program} import 3` : 'no machine matches';
  await writeListing(context, options, rendering, withFirst(first, pages), none);
}

async function* withFirst(
  first: IteratorResult<readonly Machine[]>,
  others: AsyncGenerator<readonly Machine[]>,
): AsyncGenerator<readonly Machine[]> {
  if (first.done === true) return;
  yield first.value;
  yield* others;
}
