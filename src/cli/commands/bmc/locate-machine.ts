/** The indicator of a machine, so that people find it. */

import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import {
  type LocateMachineResponse,
  LocateMachineResponseSchema,
} from '../../../gen/baremetal/fleet/v1/bmc_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addExamples, addOutput } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';

const LOCATING: Rendering<LocateMachineResponse> = {
  json: (response) => jsonOf(LocateMachineResponseSchema, response),
  name: ({ machineId }) => machineId,
  columns: [],
  wideColumns: [],
};

interface LocateOptions {
  readonly output: OutputFormat;
  readonly for?: string;
  readonly off?: true;
  readonly reason?: string;
}

export function locateMachine(context: CommandContext): Command {
  const command = new Command('locate')
    .description('Switch the indicator of a machine on, so that people find it; it goes off by itself')
    .argument('<machine-id>')
    .option('--for <time>', 'how long, such as 10m; at most 24h (default: 10m)')
    .option('--off', 'switch it off at once')
    .option('--reason <text>', 'the reason, kept in the history');
  addExamples(command, context.program, ['locate web-7 --for 30m', 'locate web-7 --off']);
  return addOutput(command).action(
    context.action<LocateOptions>(async ({ args: [machineId = ''], options, api }) => {
      const { for: duration = '', off = false, reason = '', output } = options;
      if (off && duration !== '') throw new UsageError('--for and --off exclude each other');
      const answer = await api.bmc.locateMachine({ machineId, duration, off, reason });
      writeOne(context.out, output, LOCATING, answer, () => {
        const until = answer.locating?.until;
        const state = until ? `on until ${timestampDate(until).toISOString()}` : 'off';
        context.out.line(`${plainText(answer.machineId)}: the indicator is ${state}`);
      });
      return 'ok';
    }),
  );
}
