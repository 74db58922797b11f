/** Machines that were in trouble in the last 90 days, the worst first, with the reasons. */
import { Command, Option } from 'commander';
import { LEMON_DAYS } from '../../../domain/hardware/lemon-score.ts';
import { type LemonScore, LemonScoreSchema } from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { pagesOf } from '../../connection/pages.ts';
import { addExamples, addOutput, wholeNumber } from '../../input/options.ts';
import { isForPeople, jsonOf, type OutputFormat, type Rendering, writeList } from '../../output/format.ts';
import type { Column } from '../../output/table.ts';
import { instantText } from '../../output/time-text.ts';

const COLUMNS: readonly Column<LemonScore>[] = [
  { header: 'MACHINE_ID', cell: ({ machineId }) => machineId },
  { header: 'SCORE', cell: ({ score }) => String(score) },
  { header: 'REASONS', cell: ({ reasons }) => reasons.join('; ') },
];

const LEMONS: Rendering<LemonScore> = {
  json: (lemon) => jsonOf(LemonScoreSchema, lemon),
  name: ({ machineId }) => machineId,
  columns: COLUMNS,
  wideColumns: [...COLUMNS, { header: 'SCORED', cell: ({ scoredAt }) => instantText(scoredAt) }],
};

interface LemonsOptions {
  readonly output: OutputFormat;
  readonly filter?: string;
  readonly limit: number;
}

const DEFAULT_LIMIT = 20;

export function listLemons(context: CommandContext): Command {
  const command = new Command('lemons')
    .description(
      `Machines that were in trouble in the last ${LEMON_DAYS} days, the worst first, with the reasons`,
    )
    .addOption(new Option('--filter <filter>', 'only machines that it matches'))
    .addOption(new Option('--limit <n>', 'the worst n').argParser(wholeNumber).default(DEFAULT_LIMIT));
  addExamples(command, context.program, [
    'hardware lemons',
    "hardware lemons --filter 'hardware.lemon_score>=40'",
  ]);
  return addOutput(command).action(
    context.action<LemonsOptions>(async ({ options, api }) => {
      const { output, filter = '', limit } = options;
      const pages = pagesOf(async (page) => {
        const answer = await api.hardware.listLemons({ filter, ...page });
        return { items: answer.lemons, nextPageToken: answer.nextPageToken };
      }, limit);
      const count = await writeList(context.out, output, LEMONS, pages);
      if (count === 0 && isForPeople(output))
        context.err.line(`no machine was in trouble in the last ${LEMON_DAYS} days`);
      return 'ok';
    }),
  );
}
