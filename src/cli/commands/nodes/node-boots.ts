/** What machines fetched while they booted. */
import { Command } from 'commander';
import { bytesText } from '../../../domain/agent/metric-text.ts';
import type { CommandContext } from '../../command-context.ts';
import { restPages } from '../../connection/rest-pages.ts';
import { addListing } from '../../input/options.ts';
import type { Rendering } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import type { Column } from '../../output/table.ts';
import { nodePath } from '../../rendering/node-rendering.ts';

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

const DEFAULT_LIMIT = 50;

const COLUMNS: readonly Column<FetchBody>[] = [
  { header: 'TIME', cell: (fetch) => fetch.created_at },
  { header: 'ADDRESS', cell: ({ address }) => address },
  { header: 'BOOT', cell: ({ boot }) => (boot === null ? '' : String(boot)) },
  { header: 'FETCHED', cell: ({ fetched }) => fetched, stays: 'longest' },
  { header: 'SERVED', cell: ({ served }) => served, stays: 'longest' },
  { header: 'BYTES', cell: sentText, colour: ({ complete }) => (complete ? undefined : 'red') },
  { header: 'REASON', cell: ({ reason }) => reason ?? '', stays: 'longest' },
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

interface BootsOptions extends ListingOptions {
  readonly mac?: string;
}

export function nodeBoots(context: CommandContext): Command {
  const command = new Command('boots')
    .description(
      'Show what a node fetched while it booted, newest first; without a node, what all machines did',
    )
    .argument('[node-id]')
    .option('--mac <address>', 'only scripts that were asked for with this MAC address; without a node');
  return addListing(command, FETCHES, { limit: DEFAULT_LIMIT }).action(
    context.restAction<BootsOptions>(async ({ args: [id], options, rest }) => {
      const mac = options.mac === undefined ? '' : `?mac=${encodeURIComponent(options.mac)}`;
      const path = id === undefined ? '/boots' : `${nodePath(id)}/boots`;
      const pages = restPages<FetchBody>(rest, `${path}${mac}`, askedFor(options));
      return writeListing(context, options, FETCHES, pages, 'nothing was fetched');
    }),
  );
}
