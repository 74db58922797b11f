/** Machines in maintenance: since when, until when, why and on whose order (docs/maintenance.md). */
import { Command } from 'commander';
import { type Machine, MachineSchema } from '../../../gen/baremetal/v2/machine_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { filterOf, machinePages, type SelectionOptions } from '../../input/machine-selection.ts';
import { addExamples, addFilter, addListing } from '../../input/options.ts';
import { jsonOf, type Rendering } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import type { Column } from '../../output/table.ts';
import { ageText, instantText } from '../../output/time-text.ts';

interface ListOptions extends SelectionOptions, ListingOptions {
  readonly overdue?: true;
}

export function maintenanceGroup(context: CommandContext): Command {
  return new Command('maintenance')
    .description('Machines in maintenance, and those that should be back')
    .addCommand(listMaintenance(context));
}

function listMaintenance(context: CommandContext): Command {
  const command = new Command('list')
    .description('List the machines in maintenance: since, until, overdue, reason, by whom')
    .option('--overdue', 'only those whose time is over');
  addExamples(command, context.program, ['maintenance list', 'maintenance list --overdue -o name']);
  return addListing(addFilter(command), renderingAt(0)).action(
    context.action<ListOptions>(async ({ options, api }) => {
      const asked = filterOf(options);
      const which = options.overdue ? 'maintenance_overdue=true' : 'phase=MAINTENANCE';
      const pages = machinePages(api, asked === '' ? which : `${which} AND (${asked})`, askedFor(options));
      const none = options.overdue ? 'no maintenance is overdue' : 'no machine is in maintenance';
      return writeListing(context, options, renderingAt(context.now()), pages, none);
    }),
  );
}

function renderingAt(now: number): Rendering<Machine> {
  const columns: readonly Column<Machine>[] = [
    { header: 'MACHINE_ID', minWidth: 11, cell: ({ machineId }) => machineId },
    { header: 'SINCE', cell: ({ status }) => instantText(status?.maintenance?.since) },
    { header: 'FOR', cell: ({ status }) => ageText(status?.maintenance?.since, now) },
    { header: 'UNTIL', cell: ({ status }) => instantText(status?.maintenance?.until), stays: 'longest' },
    {
      header: 'OVERDUE',
      stays: 'longest',
      cell: ({ status }) => (status?.maintenance?.overdue ? 'yes' : 'no'),
      colour: ({ status }) => (status?.maintenance?.overdue ? 'yellow' : undefined),
    },
    { header: 'EXITS', cell: ({ status }) => (status?.maintenance?.exitsByItself ? 'by itself' : '') },
    { header: 'REASON', cell: ({ status }) => status?.maintenance?.reason ?? '', stays: 'longest' },
    { header: 'BY', cell: ({ status }) => status?.maintenance?.by ?? '' },
  ];
  return {
    json: (machine) => jsonOf(MachineSchema, machine),
    name: ({ machineId }) => machineId,
    columns,
    wideColumns: columns,
  };
}
