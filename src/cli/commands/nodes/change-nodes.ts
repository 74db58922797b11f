/** Changes many nodes with one request: the nodes with these ids, or those that match a filter. Each node has a result. */

import { Command, Option } from 'commander';
import { installLifecycle } from '../../../domain/install/install-state.ts';
import { statesOf } from '../../../domain/lifecycle/lifecycle.ts';
import type { CommandContext } from '../../command-context.ts';
import { CallError } from '../../connection/call-error.ts';
import type { Answer, Rest } from '../../connection/rest-client.ts';
import { restPages } from '../../connection/rest-pages.ts';
import { status } from '../../connection/status.ts';
import { type Exit, worstExit } from '../../errors/exit-code.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { confirmSelection, showSelection } from '../../input/confirm-selection.ts';
import type { Selection } from '../../input/machine-selection.ts';
import { addNodeReason, addOutput, oneOf, several } from '../../input/options.ts';
import { typedIds } from '../../input/typed-ids.ts';
import { isForPeople, type OutputFormat, type Rendering, writeList } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import type { NodeBody } from '../../rendering/node-rendering.ts';

interface ResultBody {
  readonly id: string;
  readonly success: boolean;
  readonly state?: string;
  readonly workflow?: string | null;
  readonly tags?: readonly string[];
  readonly detail?: string;
  readonly reason?: string;
}

interface SelectOptions {
  readonly output: OutputFormat;
  readonly state?: string;
  readonly tag?: string;
  readonly group?: string;
  readonly search?: string;
  readonly yes?: boolean;
  readonly dryRun?: true;
  readonly reason?: string;
  readonly comment?: string;
}

const PAGE = 1000;
const FILTERS = { state: 'state', tag: 'tag', group: 'group', search: 'q' } as const;

function addSelection(command: Command): Command {
  return addOutput(
    addNodeReason(command)
      .addOption(
        oneOf(new Option('--state <state>', 'all in this install state'), statesOf(installLifecycle)),
      )
      .option('--tag <tag>', 'all with this tag')
      .option('--group <name>', 'all in this group')
      .option('--search <text>', 'all where an id, a name, an address or a serial number contains it')
      .option('-y, --yes', 'do not ask for confirmation')
      .option('--dry-run', 'show which nodes it would be, and do nothing'),
  );
}

/** Evaluates the filter once. The selection is then a fixed list of ids. */
async function selectNodes(rest: Rest, typed: readonly string[], options: SelectOptions): Promise<Selection> {
  const query = new URLSearchParams();
  for (const [option, parameter] of Object.entries(FILTERS)) {
    const value = options[option as keyof typeof FILTERS];
    if (value !== undefined) query.set(parameter, value);
  }
  const criterion = query.toString().replaceAll('&', ', ');
  const choices = '--state, --tag, --group or --search';
  if (typed.length > 0 && criterion !== '') throw new UsageError(`give node ids, or ${choices}, not both`);
  if (typed.some((id) => id === '')) throw new UsageError('a node id is empty');
  if (typed.length > 0) return { machineIds: [...new Set(typed)], criterion: undefined };
  if (criterion === '') throw new UsageError(`which node? give a node id, several, or ${choices}`);
  const machineIds: string[] = [];
  for await (const found of restPages<NodeBody>(rest, `/nodes?${query}`, undefined))
    machineIds.push(...found.map(({ id }) => id));
  return { machineIds, criterion };
}

interface BulkChange {
  readonly context: CommandContext;
  readonly rest: Rest;
  readonly typed: readonly string[];
  readonly options: SelectOptions;
  readonly verb: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly line: (result: ResultBody) => string;
}

async function changeNodes(change: BulkChange): Promise<Exit> {
  const { context, rest, options, verb } = change;
  const typed = await typedIds(context, change.typed);
  const selection = await selectNodes(rest, typed, options);
  const { machineIds, criterion } = selection;
  if (machineIds.length === 0) {
    context.err.line('no node matches: nothing was done');
    return 'ok';
  }
  if (options.dryRun) return showSelection(context, selection, verb);
  if (criterion !== undefined)
    await confirmSelection(context, selection, { verb, isDestructive: false, yes: options.yes === true });
  const results: ResultBody[] = [];
  for (let from = 0; from < machineIds.length; from += PAGE) {
    const node_ids = machineIds.slice(from, from + PAGE);
    const answer = await rest.call<Answer<ResultBody[]>>('POST', change.path, { node_ids, ...change.body });
    results.push(...answer.data);
  }
  const [only] = results;
  if (only && results.length === 1 && !only.success) throw refusalOf(only);
  return writeResults(change, results);
}

async function writeResults(
  { context, options, line }: BulkChange,
  results: readonly ResultBody[],
): Promise<Exit> {
  const [done, refused] = [
    results.filter(({ success }) => success),
    results.filter(({ success }) => !success),
  ];
  if (isForPeople(options.output)) for (const result of done) context.out.line(line(result));
  else await writeList(context.out, options.output, RESULTS, [options.output === 'name' ? done : results]);
  for (const { id, detail } of refused)
    context.err.line(`${plainText(id)} is refused: ${plainText(detail ?? '')}`);
  if (refused.length > 0)
    context.err.line(`${results.length} nodes: ${done.length} changed, ${refused.length} refused`);
  return worstExit(refused.length === 0 ? ['ok'] : ['precondition']);
}

function refusalOf({ detail, reason }: ResultBody): CallError {
  return new CallError({
    code: reason === 'NODE_NOT_FOUND' ? status.NOT_FOUND : status.FAILED_PRECONDITION,
    message: detail ?? 'the node is refused',
    reason: reason ?? 'FAILED_PRECONDITION',
    metadata: {},
    violations: [],
  });
}

const RESULTS: Rendering<ResultBody> = {
  json: (result) => result as never,
  name: ({ id }) => id,
  columns: [],
  wideColumns: [],
};

interface ApproveOptions extends SelectOptions {
  readonly workflow?: string;
}

export function approveNodes(context: CommandContext): Command {
  const command = new Command('approve')
    .description('Approve discovered nodes: each is installed at its next boot')
    .argument('[node-id...]', 'nodes; with a filter instead, only discovered nodes are approved')
    .option(
      '--workflow <name>',
      'the workflow to install with (default: the assigned one, or the default workflow)',
    );
  return addSelection(command).action(
    context.restAction<ApproveOptions>(async ({ args: typed, options, rest }) => {
      const { workflow } = options;
      const comment = options.reason ?? options.comment;
      // A filter selects discovered nodes; an explicit id may also reset a node or install it again.
      const isByFilter = typed.length === 0 && [options.tag, options.group, options.search].some(Boolean);
      return changeNodes({
        context,
        rest,
        typed,
        options: isByFilter ? { state: 'discovered', ...options } : options,
        verb: 'approve',
        path: '/nodes/bulk/approve',
        body: { ...(workflow !== undefined && { workflow }), ...(comment !== undefined && { comment }) },
        line: ({ id, state = '' }) => `${plainText(id)} is ${plainText(state)}`,
      });
    }),
  );
}

interface TagOptions extends SelectOptions {
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
}

export function tagNodes(context: CommandContext): Command {
  const command = new Command('tag')
    .description('Add tags to nodes, or remove them; tags are in lower case')
    .argument('[node-id...]')
    .option('--add <tag>', 'a tag to add (may be repeated)', several)
    .option('--remove <tag>', 'a tag to remove (may be repeated)', several);
  return addSelection(command).action(
    context.restAction<TagOptions>(async ({ args: typed, options, rest }) => {
      const { add = [], remove = [] } = options;
      if (add.length + remove.length === 0) throw new UsageError('which tags? give --add or --remove');
      return changeNodes({
        context,
        rest,
        typed,
        options,
        verb: 'tag',
        path: '/nodes/bulk/tags',
        body: { add, remove },
        line: ({ id, tags = [] }) => `${plainText(id)} has ${plainText(tags.join(', ')) || 'no tags'}`,
      });
    }),
  );
}

export function assignWorkflow(context: CommandContext): Command {
  const command = new Command('workflow')
    .description('Assign a workflow to nodes: it is used when they are approved')
    .argument('<workflow>', 'its name; "" removes it, so that the default is used')
    .argument('[node-id...]');
  return addSelection(command).action(
    context.restAction<SelectOptions>(async ({ args: [workflow = '', ...typed], options, rest }) =>
      changeNodes({
        context,
        rest,
        typed,
        options,
        verb: `assign the workflow ${workflow || '(default)'} to`,
        path: '/nodes/bulk/workflow',
        body: { workflow },
        line: ({ id, workflow: assigned }) =>
          `${plainText(id)} has the workflow ${plainText(assigned ?? '(default)')}`,
      }),
    ),
  );
}
