/** The inventory: every machine with its service state. */
import { Command, Option } from 'commander';
import { installLifecycle } from '../../../domain/install/install-state.ts';
import { statesOf } from '../../../domain/lifecycle/lifecycle.ts';
import { serviceLifecycle } from '../../../domain/machine/service-state.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Rest } from '../../connection/rest-client.ts';
import { restPages } from '../../connection/rest-pages.ts';
import { addListing, oneOf } from '../../input/options.ts';
import type { Rendering } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import type { Column } from '../../output/table.ts';

/** A row of `GET /nodes?view=inventory` (docs/nodes.md): the service state, without the installation. */
interface InventoryBody {
  readonly id: string;
  readonly service: string | null;
  readonly pool: string | null;
  readonly hostname: string | null;
  readonly mac_address: string | null;
  readonly workflow: string | null;
  readonly tags: readonly string[];
}

const SERVICE_COLOURS: Readonly<Record<string, 'green' | 'red' | 'yellow'>> = {
  active: 'green',
  offline: 'red',
  quarantined: 'yellow',
};

const INVENTORY_COLUMNS: readonly Column<InventoryBody>[] = [
  { header: 'NODE_ID', cell: ({ id }) => id },
  {
    header: 'SERVICE',
    stays: 'longest',
    cell: ({ service }) => service ?? '',
    colour: ({ service }) => SERVICE_COLOURS[service ?? ''],
  },
  { header: 'POOL', cell: ({ pool }) => pool ?? '' },
  { header: 'HOSTNAME', cell: ({ hostname }) => hostname ?? '', stays: 'longest' },
  { header: 'MAC_ADDRESS', cell: (entry) => entry.mac_address ?? '' },
  { header: 'TAGS', cell: ({ tags }) => tags.join(',') },
];

const INVENTORY: Rendering<InventoryBody> = {
  json: (entry) => entry as never,
  name: ({ id }) => id,
  columns: INVENTORY_COLUMNS,
  wideColumns: [...INVENTORY_COLUMNS, { header: 'WORKFLOW', cell: ({ workflow }) => workflow ?? '' }],
};

interface ListOptions extends ListingOptions {
  readonly service?: string;
  readonly state?: string;
  readonly tag?: string;
  readonly workflow?: string;
  readonly group?: string;
  readonly mac?: string;
  readonly search?: string;
}

export function listNodes(context: CommandContext): Command {
  const command = new Command('list')
    .description('List the nodes with their service state, newest first; `node show` has the installation')
    .addOption(
      oneOf(new Option('--service <state>', 'only in this service state'), statesOf(serviceLifecycle)),
    )
    .addOption(oneOf(new Option('--state <state>', 'only in this install state'), statesOf(installLifecycle)))
    .option('--tag <tag>', 'only with this tag')
    .option('--workflow <name>', 'only with this workflow')
    .option('--group <name>', 'only in this group')
    .option('--mac <address>', 'only the one with this MAC address')
    .option('--search <text>', 'only where an id, a name, an address or a serial number contains it');
  return addListing(command, INVENTORY).action(
    context.restAction<ListOptions>(async ({ options, rest }) => {
      const none = 'no nodes; a machine that boots over the network appears here by itself';
      return writeListing(context, options, INVENTORY, inventoryPages(rest, options), none);
    }),
  );
}

async function* inventoryPages(rest: Rest, options: ListOptions): AsyncGenerator<readonly InventoryBody[]> {
  const query = new URLSearchParams({ view: 'inventory' });
  for (const key of ['service', 'state', 'tag', 'workflow', 'group', 'mac'] as const) {
    const value = options[key];
    if (value !== undefined) query.set(key, value);
  }
  if (options.search !== undefined) query.set('q', options.search);
  yield* restPages<InventoryBody>(rest, `/nodes?${query}`, askedFor(options));
}
