/** Machines that were in trouble in the last 90 days, the worst first, with the reasons. */
import { Command } from 'commander';
import { LEMON_DAYS } from '../../../domain/hardware/lemon-score.ts';
import { type LemonScore, LemonScoreSchema } from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { pagesOf } from '../../connection/pages.ts';
import { addExamples, addListing } from '../../input/options.ts';
import { jsonOf, type Rendering } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
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

interface LemonsOptions extends ListingOptions {
  readonly filter?: string;
}

const DEFAULT_LIMIT = 20;

export function listLemons(context: CommandContext): Command {
  const command = new Command('lemons')
    .description(
      `List machines that were in trouble in the last ${LEMON_DAYS} days, the worst first, with the reasons`,
    )
    .option('--filter <filter>', 'only those that match, such as hardware.lemon_score>=40');
  addExamples(command, context.program, [
    'hardware lemons',
    "hardware lemons --filter 'hardware.lemon_score>=40'",
  ]);
  return addListing(command, LEMONS, { limit: DEFAULT_LIMIT, meaning: 'the worst n' }).action(
    context.action<LemonsOptions>(async ({ options, api }) => {
      const { filter = '' } = options;
      const pages = pagesOf(async (page) => {
        const answer = await api.hardware.listLemons({ filter, ...page });
        return { items: answer.lemons, nextPageToken: answer.nextPageToken };
      }, askedFor(options));
      const none = `no machine was in trouble in the last ${LEMON_DAYS} days`;
      return writeListing(context, options, LEMONS, pages, none);
    }),
  );
}
