/** What machines are made of: show it, what changed, and how two versions differ (docs/hardware.md). */
import { Command, Option } from 'commander';
import {
  type HardwareChange,
  HardwareChangeSchema,
  type HardwareDiff,
  HardwareDiffSchema,
} from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { pagesOf } from '../../connection/pages.ts';
import { addExamples, addListing, addOutput, wholeNumber } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';
import { instantText } from '../../output/time-text.ts';
import { listLemons } from './list-lemons.ts';
import { profileGroup } from './profile-group.ts';
import { listLog, listSensors } from './sensor-commands.ts';
import { showBurnIn } from './show-burn-in.ts';
import { showHardware } from './show-hardware.ts';

export function hardwareGroup(context: CommandContext): Command {
  return new Command('hardware')
    .alias('hw')
    .description('What machines are made of, from every source, and what changed')
    .addCommand(showHardware(context), { isDefault: true })
    .addCommand(listChanges(context))
    .addCommand(diffHardware(context))
    .addCommand(showBurnIn(context))
    .addCommand(listSensors(context))
    .addCommand(listLog(context))
    .addCommand(listLemons(context))
    .addCommand(profileGroup(context));
}

const COLUMNS: readonly Column<HardwareChange>[] = [
  { header: 'TIME', cell: ({ foundAt }) => instantText(foundAt) },
  { header: 'MACHINE_ID', cell: ({ machineId }) => machineId, stays: 'longest' },
  { header: 'SOURCE', cell: ({ source }) => source },
  { header: 'VERSION', cell: ({ version }) => String(version) },
  { header: 'CHANGE', cell: changeText, stays: 'longest' },
];

const CHANGES: Rendering<HardwareChange> = {
  json: (change) => jsonOf(HardwareChangeSchema, change),
  name: ({ machineId, source, version }) => `${machineId}/${source}/${version}`,
  columns: COLUMNS,
  wideColumns: [
    ...COLUMNS,
    { header: 'FOUND_BY', cell: ({ foundBy }) => foundBy },
    { header: 'OPERATION_ID', cell: ({ operationId }) => operationId },
  ],
};

function changeText({ version, changes }: HardwareChange): string {
  return changes.length === 0 && version === 1 ? 'first report' : changes.join('; ');
}

interface ChangesOptions extends ListingOptions {
  readonly source?: string;
}

const DEFAULT_LIMIT = 50;

function sourceOption(): Option {
  return new Option('--source <source>', 'only what this source reports').choices(['bmc', 'installer']);
}

function listChanges(context: CommandContext): Command {
  const command = new Command('changes')
    .description('List what changed in the hardware of a machine, or of all machines, newest first')
    .argument('[machine-id]')
    .addOption(sourceOption());
  return addListing(command, CHANGES, { limit: DEFAULT_LIMIT }).action(
    context.action<ChangesOptions>(async ({ args: [machineId = ''], options, api }) => {
      const { source = '' } = options;
      const pages = pagesOf(async (page) => {
        const answer = await api.hardware.listHardwareChanges({ machineId, source, ...page });
        return { items: answer.changes, nextPageToken: answer.nextPageToken };
      }, askedFor(options));
      const none = `nothing is known yet: ${context.program} inspect <machine-id>`;
      return writeListing(context, options, CHANGES, pages, none);
    }),
  );
}

const DIFFS: Rendering<HardwareDiff> = {
  json: (diff) => jsonOf(HardwareDiffSchema, diff),
  name: ({ machineId }) => machineId,
  columns: [],
  wideColumns: [],
};

interface DiffOptions {
  readonly output: OutputFormat;
  readonly source?: string;
  readonly from?: number;
  readonly to?: number;
}

function diffHardware(context: CommandContext): Command {
  const command = new Command('diff')
    .description('Compare two versions of what a source reports of a machine')
    .argument('<machine-id>')
    .addOption(sourceOption())
    .addOption(
      new Option('--from <version>', 'the older version (default: the one before the newer)').argParser(
        wholeNumber,
      ),
    )
    .addOption(
      new Option('--to <version>', 'the newer version (default: the newest)').argParser(wholeNumber),
    );
  addExamples(command, context.program, ['hardware diff web-7', 'hardware diff web-7 --from 1 --source bmc']);
  return addOutput(command).action(
    context.action<DiffOptions>(async ({ args: [machineId = ''], options, api }) => {
      const { output, source = '', from = 0, to = 0 } = options;
      const request = { machineId, source, fromVersion: from, toVersion: to };
      const diff = await api.hardware.diffHardware(request);
      writeOne(context.out, output, DIFFS, diff, () => writeDiff(context, diff));
      return 'ok';
    }),
  );
}

function writeDiff(context: CommandContext, diff: HardwareDiff): void {
  const { source, fromVersion, toVersion, fromAt, toAt, changes } = diff;
  const between = `version ${fromVersion} (${instantText(fromAt)}) and version ${toVersion} (${instantText(toAt)})`;
  context.err.line(`${plainText(source)}: ${between}`);
  if (changes.length === 0) context.err.line('they are the same');
  for (const change of changes) context.out.line(plainText(change));
}
