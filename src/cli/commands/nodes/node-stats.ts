/** Statistics of nodes, and stalled installations. */
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import type { Answer } from '../../connection/rest-client.ts';
import { restPages } from '../../connection/rest-pages.ts';
import { addListing, addOutput } from '../../input/options.ts';
import { type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import { type NodeBody, nodes } from '../../rendering/node-rendering.ts';

interface StatsBody {
  readonly total: number;
  readonly by_state: Readonly<Record<string, number>>;
  readonly discovered_last_hour: number;
  readonly installing_count: number;
  readonly stalled_count: number;
}

const STATS: Rendering<StatsBody> = {
  json: (stats) => stats as never,
  name: ({ total }) => String(total),
  columns: [],
  wideColumns: [],
};

export function nodeStats(context: CommandContext): Command {
  const command = new Command('stats').description(
    'Count nodes by state, new nodes and stalled installations',
  );
  return addOutput(command).action(
    context.restAction<{ output: OutputFormat }>(async ({ options, rest }) => {
      const { data } = await rest.call<Answer<StatsBody>>('GET', '/nodes/stats');
      writeOne(context.out, options.output, STATS, data, () => {
        const lines = [
          ...Object.entries(data.by_state),
          ['total', data.total],
          ['discovered in the last hour', data.discovered_last_hour],
          ['stalled', data.stalled_count],
        ] as const;
        for (const [name, count] of lines) context.out.line(`${`${name}:`.padEnd(30)}${count}`);
      });
      return 'ok';
    }),
  );
}

export function stalledNodes(context: CommandContext): Command {
  const command = new Command('stalled').description(
    'List stalled nodes: no report for too long while installing, or booted from disk while pending',
  );
  return addListing(command, nodes(0)).action(
    context.restAction<ListingOptions>(async ({ options, rest }) => {
      const pages = restPages<NodeBody>(rest, '/nodes/stalled', askedFor(options));
      return writeListing(context, options, nodes(context.now()), pages, 'no installation is stalled');
    }),
  );
}
