/** The transitions of one node. */
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addOutput, wholeNumber } from '../../input/options.ts';
import { type OutputFormat, type Rendering, writeList } from '../../output/format.ts';
import type { Column } from '../../output/table.ts';
import { type Answer, nodePath } from '../../rendering/node-rendering.ts';

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

const PAGE = 1000;

const HISTORY_COLUMNS: readonly Column<HistoryBody>[] = [
  { header: 'TIME', cell: (entry) => entry.created_at },
  { header: 'FROM', cell: (entry) => entry.from_state },
  { header: 'TO', cell: (entry) => entry.to_state },
  {
    header: 'BY',
    cell: ({ triggered_by: by, user_id: user }) => (user === null ? by : `${by}:${user}`),
  },
  { header: 'COMMENT', cell: (entry) => entry.comment ?? '' },
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
    .argument('<node-id>')
    .option('--limit <n>', 'at most n (default 50)', wholeNumber);
  return addOutput(command).action(
    context.restAction<{ output: OutputFormat; limit?: number }>(
      async ({ args: [id = ''], options, rest }) => {
        const limit = Math.min(options.limit ?? 50, PAGE);
        const { data } = await rest.call<Answer<HistoryBody[]>>(
          'GET',
          `${nodePath(id)}/history?limit=${limit}`,
        );
        await writeList(context.out, options.output, HISTORY, [data]);
        return 'ok';
      },
    ),
  );
}
