/** Statistics of nodes, and stalled installations. */
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import type { Rest } from '../../connection/rest-client.ts';
import { addOutput, wholeNumber } from '../../input/options.ts';
import { isForPeople, type OutputFormat, type Rendering, writeList, writeOne } from '../../output/format.ts';
import { type Answer, type NodeBody, nodes } from '../../rendering/node-rendering.ts';

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

const PAGE = 1000;

export function stalledNodes(context: CommandContext): Command {
  const command = new Command('stalled')
    .description(
      'List stalled nodes: no report for too long while installing, or booted from disk while pending',
    )
    .option('--limit <n>', 'at most n', wholeNumber);
  return addOutput(command).action(
    context.restAction<{ output: OutputFormat; limit?: number }>(async ({ options, rest }) => {
      const pages = stalledPages(rest, options.limit ?? Number.POSITIVE_INFINITY);
      const count = await writeList(context.out, options.output, nodes(context.now()), pages);
      if (count === 0 && isForPeople(options.output)) context.err.line('no installation is stalled');
      return 'ok';
    }),
  );
}

async function* stalledPages(rest: Rest, limit: number): AsyncGenerator<readonly NodeBody[]> {
  for (let offset = 0; offset < limit; ) {
    const size = Math.min(PAGE, limit - offset);
    const path = `/nodes/stalled?limit=${size}&offset=${offset}`;
    const { data, total = 0 } = await rest.call<Answer<NodeBody[]>>('GET', path);
    yield data;
    offset += data.length;
    if (data.length === 0 || offset >= total) return;
  }
}
