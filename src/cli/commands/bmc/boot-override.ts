/** What a machine boots from next, through its BMC. */
import { Argument, Command, Option } from 'commander';
import {
  BOOT_SOURCE_NAMES,
  BOOT_SOURCES,
  bootPathProblem,
  type WantedBootSource,
} from '../../../domain/hardware/boot-override.ts';
import { type BootOverride, BootOverrideSchema } from '../../../gen/baremetal/fleet/v1/bmc_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addExamples, addOutput, oneOf } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { padEnd, plainText } from '../../output/plain-text.ts';
import { workflowCommand } from '../workflows/workflow-command.ts';

export function bootOverrideGroup(context: CommandContext): Command {
  return new Command('boot-override')
    .description('What a machine boots from next: show it, set it')
    .addCommand(showOverride(context), { isDefault: true })
    .addCommand(setOverride(context));
}

const OVERRIDES: Rendering<BootOverride> = {
  json: (override) => jsonOf(BootOverrideSchema, override),
  name: ({ machineId }) => machineId,
  columns: [],
  wideColumns: [],
};

const WIDTH = 10;

function showOverride(context: CommandContext): Command {
  const command = new Command('show')
    .description('What the BMC says that the machine boots from next, and what it offers')
    .argument('<machine-id>');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [machineId = ''], options, api }) => {
      const override = await api.bmc.getBootOverride({ machineId });
      writeOne(context.out, options.output, OVERRIDES, override, () => {
        for (const [label, text] of linesOf(override))
          context.out.line(`${padEnd(`${label}:`, WIDTH)}${plainText(text)}`);
      });
      return 'ok';
    }),
  );
}

function linesOf({ source, target, once, mode, path, offered }: BootOverride): [string, string][] {
  const length = source === 'none' ? '' : once ? ', the next boot only' : ', every boot';
  const lines: [string, string][] = [
    ['Boots', source === 'none' ? BOOT_SOURCES.none : `from ${source} (${target})${length}`],
    ['Mode', mode],
    ['Path', path],
    ['Offered', offered.join(', ')],
  ];
  return lines.filter(([, text]) => text !== '');
}

interface SetOptions {
  readonly continuous?: true;
  readonly mode?: string;
  readonly path?: string;
}

const SET_HELP = `
Sources:
${BOOT_SOURCE_NAMES.map((name) => `  ${name.padEnd(14)}${BOOT_SOURCES[name]}`).join('\n')}

IPMI has none, pxe, disk, cd and setup. What was set is read back from the BMC.`;

function setOverride(context: CommandContext): Command {
  return workflowCommand<SetOptions>(context, {
    name: 'set',
    typed: 'boot-override set',
    description: 'Set what a machine boots from: for the next boot, or for every boot',
    isDestructive: false,
    timeout: '30m',
    more: (command) => {
      command
        .addArgument(oneOf(new Argument('<source>'), BOOT_SOURCE_NAMES))
        .option('--continuous', 'for every boot until it is changed (default: the next boot only)')
        .addOption(
          oneOf(new Option('--mode <mode>', 'of the firmware (default: as it is)'), ['UEFI', 'Legacy']),
        )
        .option(
          '--path <path>',
          'the UEFI device path, the boot option (Boot0003) or the address of an HTTP boot',
        )
        .addHelpText('after', SET_HELP);
      addExamples(command, context.program, [
        'boot-override set web-7 setup',
        'boot-override set web-7 pxe --continuous --mode UEFI',
        'boot-override set web-7 none',
      ]);
      return command;
    },
    check: ([, source = ''], { path = '' }) => {
      const problem = bootPathProblem({ source: source as WantedBootSource, path });
      if (problem !== null) throw new UsageError(`--path ${problem}`);
    },
    start: (
      api,
      { machineId, requestId, reason },
      { continuous = false, mode = '', path = '' },
      [, source = ''],
    ) => api.bmc.setBootOverride({ machineId, requestId, reason, source, continuous, mode, path }),
    same: ({ continuous, mode, path }, [, source = '']) =>
      [
        ` ${source}`,
        continuous ? ' --continuous' : '',
        mode === undefined ? '' : ` --mode ${mode}`,
        path === undefined ? '' : ` --path ${path}`,
      ].join(''),
  });
}
