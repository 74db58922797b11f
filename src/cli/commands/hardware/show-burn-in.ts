/** What became of a machine's burn-in, part by part. */
import { Command } from 'commander';
import { type BurnIn, BurnInSchema } from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { padEnd, plainText } from '../../output/plain-text.ts';

const BURN_IN: Rendering<BurnIn> = {
  json: (burnIn) => jsonOf(BurnInSchema, burnIn),
  name: ({ machineId }) => machineId,
  columns: [],
  wideColumns: [],
};

const WIDTH = 14;

export function showBurnIn(context: CommandContext): Command {
  const command = new Command('burn-in')
    .description('Show the burn-in of a machine: each part passed, failed or skipped')
    .argument('<machine-id>')
    .option('--operation <id>', 'the burn-in of this operation (default: the newest)');
  return addOutput(command).action(
    context.action<{ output: OutputFormat; operation?: string }>(
      async ({ args: [machineId = ''], options, api }) => {
        const operationId = options.operation ?? '';
        const found = await api.hardware.getBurnIn({ machineId, operationId });
        writeOne(context.out, options.output, BURN_IN, found, () => writeBurnIn(context, found));
        return 'ok';
      },
    ),
  );
}

function writeBurnIn(context: CommandContext, burnIn: BurnIn): void {
  const progress = burnIn.state === 'running' ? ` (${burnIn.percent} %)` : '';
  const lines: Array<readonly [string, string]> = [
    ['Machine', burnIn.machineId],
    ['Operation', burnIn.operationId],
    ['Burn-in', `${burnIn.state}${progress}: ${burnIn.tests.join(', ')} for ${burnIn.seconds} s`],
    ['Error', burnIn.error],
    ...burnIn.results.map(({ test, part, result, detail }): [string, string] => [
      test,
      `${result}: ${part}: ${detail}`,
    ]),
  ];
  for (const [label, text] of lines)
    if (text !== '') context.out.line(`${padEnd(`${plainText(label)}:`, WIDTH)}${plainText(text)}`);
}
