/** The power of machines: what it is, what it draws, and every way to change it (docs/bmc.md). */
import { Argument, Command } from 'commander';
import {
  POWER_REQUEST_NAMES,
  POWER_REQUESTS,
  type PowerRequest,
} from '../../../domain/hardware/power-request.ts';
import { type PowerStatus, PowerStatusSchema } from '../../../gen/baremetal/fleet/v1/bmc_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addExamples, addOutput } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { padEnd, plainText } from '../../output/plain-text.ts';
import { workflowCommand } from '../workflows/workflow-command.ts';

export function powerGroup(context: CommandContext): Command {
  const group = new Command('power')
    .description('The power of a machine through its BMC: show it, change it, cap it')
    .addCommand(showPower(context), { isDefault: true });
  for (const request of POWER_REQUEST_NAMES) group.addCommand(changePower(context, request));
  return group.addCommand(capPower(context));
}

const POWER: Rendering<PowerStatus> = {
  json: (status) => jsonOf(PowerStatusSchema, status),
  name: ({ machineId }) => machineId,
  columns: [],
  wideColumns: [],
};

const WIDTH = 11;

function showPower(context: CommandContext): Command {
  const command = new Command('show')
    .description('What the BMC says now: on or off, watts, and the power cap')
    .argument('<machine-id>');
  addExamples(command, context.program, ['power web-7', 'power web-7 -o json']);
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [machineId = ''], options, api }) => {
      const status = await api.bmc.getPower({ machineId });
      writeOne(context.out, options.output, POWER, status, () => {
        for (const [label, text] of linesOf(status))
          context.out.line(`${padEnd(`${label}:`, WIDTH)}${plainText(text)}`);
      });
      return 'ok';
    }),
  );
}

function linesOf(status: PowerStatus): [string, string][] {
  const { power, watts, capWatts, capacityWatts, lowestCapWatts, highestCapWatts, canCap, problem } = status;
  const lines: [string, string][] = [['Power', power]];
  if (problem !== '') return [...lines, ['Readings', problem]];
  const range = [
    lowestCapWatts === undefined ? '' : `from ${lowestCapWatts} W`,
    highestCapWatts === undefined ? '' : `up to ${highestCapWatts} W`,
  ].filter((text) => text !== '');
  const cap = capWatts === undefined ? (canCap ? 'none' : 'the BMC offers none') : `${capWatts} W`;
  lines.push(['Draws', watts === undefined ? 'not said' : `${watts} W`]);
  lines.push(['Cap', range.length === 0 ? cap : `${cap} (${range.join(' ')})`]);
  if (capacityWatts !== undefined) lines.push(['Capacity', `${capacityWatts} W`]);
  return lines;
}

function changePower(context: CommandContext, action: PowerRequest): Command {
  const { description, isHard, endsIn } = POWER_REQUESTS[action];
  return workflowCommand(context, {
    name: action,
    typed: `power ${action}`,
    description: `${description[0]?.toUpperCase()}${description.slice(1)}`,
    isDestructive: false,
    timeout: '30m',
    more: (command) =>
      command.addHelpText(
        'after',
        `\nThe log says which reset was sent and what the BMC offers ("ingot logs").${
          isHard ? ' What runs on the machine is not asked.' : ''
        }${endsIn === null ? ' Nothing shows whether it was carried out, so it is never sent twice by itself.' : ''}`,
      ),
    start: (api, request) => api.bmc.changePower({ ...request, action }),
    same: () => '',
  });
}

/** Undefined: no cap. */
function readCap(text: string): number | undefined {
  if (/^(?:off|none)$/i.test(text)) return undefined;
  const [, digits] = /^(\d{1,6})\s*W?$/i.exec(text) ?? [];
  if (digits === undefined || Number(digits) === 0)
    throw new UsageError(`${JSON.stringify(text)} is not a number of watts such as 450W, or off`);
  return Number(digits);
}

function capPower(context: CommandContext): Command {
  return workflowCommand(context, {
    name: 'cap',
    typed: 'power cap',
    description: 'Set the power cap of a machine, or remove it',
    isDestructive: false,
    timeout: '30m',
    more: (command) => {
      command.addArgument(new Argument('<watts>', 'such as 450W, or off'));
      addExamples(command, context.program, ['power cap web-7 450W', 'power cap web-7 off']);
      return command;
    },
    start: (api, { machineId, requestId, reason }, _options, [, cap = '']) => {
      const watts = readCap(cap);
      return api.bmc.setPowerCap({ machineId, requestId, reason, ...(watts !== undefined && { watts }) });
    },
    check: ([, cap = '']) => void readCap(cap),
    same: (_options, [, cap = '']) => ` ${cap}`,
  });
}
