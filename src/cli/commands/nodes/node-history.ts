/** The transitions of one node. */
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { restPages } from '../../connection/rest-pages.ts';
import { addListing } from '../../input/options.ts';
import type { Rendering } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import type { Column } from '../../output/table.ts';
import { nodePath } from '../../rendering/node-rendering.ts';

interface HistoryBody {
  readonly id: string;
  readonly from_state: string;
  readonly to_state: string;
  readonly triggered_by: string;
  readonly user_id: string | null;
  readonly comment: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly created_at: string;
}

const DEFAULT_LIMIT = 50;

const HISTORY_COLUMNS: readonly Column<HistoryBody>[] = [
  { header: 'TIME', cell: (entry) => entry.created_at },
  { header: 'FROM', cell: (entry) => entry.from_state },
  { header: 'TO', cell: (entry) => entry.to_state, stays: 'longest' },
  {
    header: 'BY',
    cell: ({ triggered_by: by, user_id: user }) => (user === null ? by : `${by}:${user}`),
  },
  { header: 'COMMENT', cell: (entry) => entry.comment ?? '', stays: 'longest' },
  {
    header: 'DETAILS',
    cell: ({ metadata }) =>
      Object.entries(metadata ?? {})
        .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
        .join(' '),
  },
];

const HISTORY: Rendering<HistoryBody> = {
  json: (entry) => entry as never,
  name: ({ id }) => id,
  columns: HISTORY_COLUMNS,
  wideColumns: HISTORY_COLUMNS,
};

export function nodeHistory(context: CommandContext): Command {
  const command = new Command('history')
    .description('Show every transition of a node, newest first')
    .argument('<node-id>');
  return addListing(command, HISTORY, { limit: DEFAULT_LIMIT }).action(
    context.restAction<ListingOptions>(async ({ args: [id = ''], options, rest }) => {
      const pages = restPages<HistoryBody>(rest, `${nodePath(id)}/history`, askedFor(options));
      return writeListing(context, options, HISTORY, pages, 'no transitions yet');
    }),
  );
}
