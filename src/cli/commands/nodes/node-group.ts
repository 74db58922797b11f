/** Nodes: machines in the inventory with their coarse states, and what is installed on those that boot from the network. */
import { Command, Option } from 'commander';
import { type Erasure, erasureLines, outcomeText } from '../../../domain/install/erasure.ts';
import type { HardwareInventory } from '../../../domain/install/hardware-inventory.ts';
import { hardwareLines } from '../../../domain/install/hardware-text.ts';
import { installLifecycle } from '../../../domain/install/install-state.ts';
import { statesOf } from '../../../domain/lifecycle/lifecycle.ts';
import { serviceLifecycle } from '../../../domain/machine/service-state.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Rest } from '../../connection/rest-client.ts';
import { addOutput, oneOf, wholeNumber } from '../../input/options.ts';
import { isForPeople, type OutputFormat, type Rendering, writeList, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';
import { type Answer, type NodeBody, nodePath, nodes } from '../../rendering/node-rendering.ts';
import { approveNodes, assignWorkflow, tagNodes } from './change-nodes.ts';
import { editNode } from './edit-node.ts';
import { nodeBoots } from './node-boots.ts';
import { nodeStats, stalledNodes } from './node-stats.ts';

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

/** Document 3 §9.1: the coarse state and nothing of workflows or installations. */
interface InventoryBody {
  readonly id: string;
  readonly service: string | null;
  readonly pool: string | null;
  readonly hostname: string | null;
  readonly mac_address: string | null;
  readonly workflow: string | null;
  readonly tags: readonly string[];
}

const PAGE = 1000;

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

export function nodeGroup(context: CommandContext): Command {
  return new Command('node')
    .description(
      'Nodes: the inventory with its coarse states, and what is installed on machines that boot from the network',
    )
    .addCommand(listNodes(context))
    .addCommand(showNode(context), { isDefault: true })
    .addCommand(nodeStats(context))
    .addCommand(stalledNodes(context))
    .addCommand(approveNodes(context))
    .addCommand(tagNodes(context))
    .addCommand(assignWorkflow(context))
    .addCommand(editNode(context))
    .addCommand(stateOfNode(context))
    .addCommand(nodeHistory(context))
    .addCommand(nodeBoots(context))
    .addCommand(retireNode(context));
}

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

function listNodes(context: CommandContext): Command {
  const command = new Command('list')
    .description(
      'List every machine with its service state, newest first; `node show` tells of its installation',
    )
    .addOption(
      oneOf(new Option('--service <state>', 'only in this service state'), statesOf(serviceLifecycle)),
    )
    .addOption(oneOf(new Option('--state <state>', 'only in this install state'), statesOf(installLifecycle)))
    .option('--tag <tag>', 'only with this tag')
    .option('--workflow <name>', 'only with this workflow')
    .option('--group <name>', 'only in this group')
    .option('--mac <address>', 'only the one with this MAC address')
    .option('--search <text>', 'only where an id, a name, an address or a serial number contains it')
    .option('--limit <n>', 'at most so many', wholeNumber);
  return addOutput(command).action(
    context.restAction<ListOptions>(async ({ options, rest }) => {
      const pages = inventoryPages(rest, options);
      const count = await writeList(context.out, options.output, INVENTORY, pages);
      if (count === 0 && isForPeople(options.output)) {
        context.err.line('no nodes; a machine that boots from the network appears here by itself');
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

function showNode(context: CommandContext): Command {
  const command = new Command('show')
    .description('Show one node, with the hardware that its installer found and what became of its disks')
    .argument('<node-id>');
  return addOutput(command).action(
    context.restAction<{ output: OutputFormat }>(async ({ args: [id = ''], options, rest }) => {
      const { data } = await rest.call<Answer<NodeBody>>('GET', nodePath(id));
      writeNode(context, options.output, data);
      return 'ok';
    }),
  );
}

function writeNode(context: CommandContext, output: OutputFormat, node: NodeBody): void {
  writeOne(context.out, output, nodes(context.now()), node, () => {
    for (const [field, value] of Object.entries(node)) {
      if (field === 'inventory') {
        writeInventory(context, value as InventoryOfNode | null);
        continue;
      }
      if (field === 'erasure') {
        writeErasure(context, value as Erasure | null);
        continue;
      }
      const text = Array.isArray(value) ? value.join(', ') : String(value ?? '');
      context.out.line(`${`${field}:`.padEnd(20)}${plainText(text) || '-'}`);
    }
  });
}

interface InventoryOfNode extends HardwareInventory {
  readonly source: string;
  readonly reported_at: string;
}

/** One line a part, below a line that says where it is from. */
function writeInventory(context: CommandContext, inventory: InventoryOfNode | null): void {
  if (inventory === null) {
    context.out.line(`${'inventory:'.padEnd(20)}-`);
    return;
  }
  const source = `from the ${plainText(inventory.source)}, ${plainText(inventory.reported_at)}`;
  context.out.line(`${'inventory:'.padEnd(20)}${source}`);
  for (const [label, text] of hardwareLines(inventory))
    context.out.line(`  ${`${label}:`.padEnd(18)}${plainText(text)}`);
}

/** What became of each disk. */
function writeErasure(context: CommandContext, erasure: Erasure | null): void {
  const outcome = erasure === null ? '-' : `${outcomeText(erasure.outcome)}, ${plainText(erasure.at)}`;
  context.out.line(`${'erasure:'.padEnd(20)}${outcome}`);
  for (const [label, text] of erasure === null ? [] : erasureLines(erasure))
    context.out.line(`  ${`${plainText(label)}:`.padEnd(18)}${plainText(text)}`);
}

interface ChangeOptions {
  readonly output: OutputFormat;
  readonly fullOverwrite?: true;
  readonly comment?: string;
  readonly force?: boolean;
}

async function change(
  context: CommandContext,
  rest: Rest,
  id: string,
  state: string,
  options: ChangeOptions,
): Promise<void> {
  const { comment, force = false, fullOverwrite } = options;
  const overwrite = fullOverwrite ? { overwrite: 'whole' } : {};
  const body = { state, force, ...overwrite, ...(comment === undefined ? {} : { comment }) };
  const { data, message = '' } = await rest.call<Answer<NodeBody>>('PATCH', `${nodePath(id)}/state`, body);
  // What the node still lacks follows its state.
  const lacks = message.startsWith(`Node is ${data.state}: `)
    ? message.slice(`Node is ${data.state}`.length)
    : '';
  writeOne(context.out, options.output, nodes(context.now()), data, () =>
    context.out.line(`${plainText(data.id)} is ${plainText(data.state)}${plainText(lacks)}`),
  );
}

function stateOfNode(context: CommandContext): Command {
  const command = new Command('state')
    .description('Move a node to another install state')
    .argument('<node-id>')
    .argument('<state>', statesOf(installLifecycle).join(', '))
    .option('--comment <text>', 'goes into the history')
    .option(
      '--force',
      'past the limit of attempts, whose counter begins again; an illegal step stays illegal',
    )
    .option(
      '--full-overwrite',
      'with deprovisioning: write over the whole of disks that have no erase command; may take hours',
    );
  return addOutput(command).action(
    context.restAction<ChangeOptions>(async ({ args: [id = '', state = ''], options, rest }) => {
      await change(context, rest, id, state, options);
      return 'ok';
    }),
  );
}

function nodeHistory(context: CommandContext): Command {
  const command = new Command('history')
    .description('Show every transition of a node, newest first')
    .argument('<node-id>')
    .option('--limit <n>', 'at most so many (default 50)', wholeNumber);
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

function retireNode(context: CommandContext): Command {
  const command = new Command('retire')
    .description('Retire a node for good (admin): nothing is ever installed on it again')
    .argument('<node-id>');
  return addOutput(command).action(
    context.restAction<{ output: OutputFormat }>(async ({ args: [id = ''], options, rest }) => {
      const { data } = await rest.call<Answer<NodeBody>>('DELETE', nodePath(id));
      writeOne(context.out, options.output, nodes(context.now()), data, () =>
        context.out.line(`${plainText(data.id)} is ${plainText(data.state)}`),
      );
      return 'ok';
    }),
  );
}
