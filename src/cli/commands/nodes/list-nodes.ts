/** The inventory: every machine with its service state. */
import { Command, Option } from 'commander';
import { installLifecycle } from '../../../domain/install/install-state.ts';
import { statesOf } from '../../../domain/lifecycle/lifecycle.ts';
import { serviceLifecycle } from '../../../domain/machine/service-state.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Rest } from '../../connection/rest-client.ts';
import { addOutput, oneOf, wholeNumber } from '../../input/options.ts';
import { isForPeople, type OutputFormat, type Rendering, writeList } from '../../output/format.ts';
import type { Column } from '../../output/table.ts';
import type { Answer } from '../../rendering/node-rendering.ts';

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
    cell: ({ service }) => service ?? '',
    colour: ({ service }) => SERVICE_COLOURS[service ?? ''],
  },
  { header: 'POOL', cell: ({ pool }) => pool ?? '' },
  { header: 'HOSTNAME', cell: ({ hostname }) => hostname ?? '' },
  { header: 'MAC_ADDRESS', cell: (entry) => entry.mac_address ?? '' },
  { header: 'TAGS', cell: ({ tags }) => tags.join(',') },
];

const INVENTORY: Rendering<InventoryBody> = {
  json: (entry) => entry as never,
  name: ({ id }) => id,
  columns: INVENTORY_COLUMNS,
  wideColumns: [...INVENTORY_COLUMNS, { header: 'WORKFLOW', cell: ({ workflow }) => workflow ?? '' }],
};

const PAGE = 1000;

interface ListOptions {
  readonly output: OutputFormat;
  readonly service?: string;
  readonly state?: string;
  readonly tag?: string;
  readonly workflow?: string;
  readonly group?: string;
  readonly mac?: string;
  readonly search?: string;
  readonly limit?: number;
}

export function listNodes(context: CommandContext): Command {
  const command = new Command('list')
    .description('List every machine with its service state, newest first; `node show` has the installation')
    .addOption(
      oneOf(new Option('--service <state>', 'only in this service state'), statesOf(serviceLifecycle)),
    )
    .addOption(oneOf(new Option('--state <state>', 'only in this install state'), statesOf(installLifecycle)))
    .option('--tag <tag>', 'only with this tag')
    .option('--workflow <name>', 'only with this workflow')
    .option('--group <name>', 'only in this group')
    .option('--mac <address>', 'only the one with this MAC address')
    .option('--search <text>', 'only where an id, a name, an address or a serial number contains it')
    .option('--limit <n>', 'at most n', wholeNumber);
  return addOutput(command).action(
    context.restAction<ListOptions>(async ({ options, rest }) => {
      const pages = inventoryPages(rest, options);
      const count = await writeList(context.out, options.output, INVENTORY, pages);
      if (count === 0 && isForPeople(options.output)) {
        context.err.line('no nodes; a machine that boots over the network appears here by itself');
      }
      return 'ok';
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
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  for (let offset = 0; left > 0; ) {
    query.set('limit', String(Math.min(PAGE, left)));
    query.set('offset', String(offset));
    const { data, total = 0 } = await rest.call<Answer<InventoryBody[]>>('GET', `/nodes?${query}`);
    yield data;
    offset += data.length;
    left -= data.length;
    if (data.length === 0 || offset >= total) return;
  }
}
