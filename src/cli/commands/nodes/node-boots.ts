/** What machines fetched while they booted. */
import { Command } from 'commander';
import { bytesText } from '../../../domain/agent/metric-text.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput, wholeNumber } from '../../input/options.ts';
import { isForPeople, type OutputFormat, type Rendering, writeList } from '../../output/format.ts';
import type { Column } from '../../output/table.ts';

interface FetchBody {
  readonly id: string;
  readonly node_id: string | null;
  readonly boot: number | null;
  readonly mac_address: string | null;
  readonly address: string;
  readonly fetched: string;
  readonly served: string;
  readonly reason: string | null;
  readonly bytes: number;
  readonly total_bytes: number | null;
  readonly complete: boolean;
  readonly created_at: string;
}

const PAGE = 1000;

const COLUMNS: readonly Column<FetchBody>[] = [
  { header: 'TIME', cell: (fetch) => fetch.created_at },
  { header: 'ADDRESS', cell: ({ address }) => address },
  { header: 'BOOT', cell: ({ boot }) => (boot === null ? '' : String(boot)) },
  { header: 'FETCHED', cell: ({ fetched }) => fetched },
  { header: 'SERVED', cell: ({ served }) => served },
  { header: 'BYTES', cell: sentText, colour: ({ complete }) => (complete ? undefined : 'red') },
  { header: 'REASON', cell: ({ reason }) => reason ?? '' },
];

const FETCHES: Rendering<FetchBody> = {
  json: (fetch) => fetch as never,
  name: ({ id }) => id,
  columns: COLUMNS,
  wideColumns: [
    ...COLUMNS,
    { header: 'NODE_ID', cell: (fetch) => fetch.node_id ?? '' },
    { header: 'MAC_ADDRESS', cell: (fetch) => fetch.mac_address ?? '' },
  ],
};

function sentText({ bytes, total_bytes: total, complete }: FetchBody): string {
  if (complete) return bytesText(bytes);
  return total === null ? 'nothing' : `${bytesText(bytes)} of ${bytesText(total)}`;
}

interface BootsOptions {
  readonly output: OutputFormat;
  readonly mac?: string;
  readonly limit?: number;
}

export function nodeBoots(context: CommandContext): Command {
  const command = new Command('boots')
    .description(
      'Show what a node fetched while it booted, newest first; without a node, what all machines did',
    )
    .argument('[node-id]')
    .option('--mac <address>', 'only scripts that were asked for with this MAC address; without a node')
    .option('--limit <n>', 'at most n (default 50)', wholeNumber);
  return addOutput(command).action(
    context.restAction<BootsOptions>(async ({ args: [id], options, rest }) => {
      const query = new URLSearchParams({ limit: String(Math.min(options.limit ?? 50, PAGE)) });
      if (options.mac !== undefined) query.set('mac', options.mac);
      const path = id === undefined ? '/boots' : `/nodes/${encodeURIComponent(id)}/boots`;
      const { data } = await rest.call<{ data: FetchBody[] }>('GET', `${path}?${query}`);
      await writeList(context.out, options.output, FETCHES, [data]);
      if (data.length === 0 && isForPeople(options.output)) context.err.line('nothing was fetched');
      return 'ok';
    }),
  );
}
