/** Saved views of the console: what its pages show, under a name, for the caller alone or for all of a scope. */
import { Command, Option } from 'commander';
import { VIEW_PAGES } from '../../../domain/view/view.ts';
import { type View, ViewSchema } from '../../../gen/baremetal/fleet/v1/view_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { addExamples, addListing, addOutput, addReason, oneOf } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { instantText } from '../../output/time-text.ts';
import { showCommand } from '../show-from-list.ts';

const COLUMNS: Rendering<View>['columns'] = [
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'PAGE', cell: ({ page }) => page, stays: 'longest' },
  { header: 'SHARED', cell: ({ shared }) => (shared ? 'yes' : ''), stays: 'longest' },
  { header: 'CREATED_BY', cell: ({ createdBy }) => createdBy },
  { header: 'CREATED', cell: ({ createdAt }) => instantText(createdAt) },
  { header: 'QUERY', cell: ({ query }) => query, stays: 'longest' },
];

const VIEWS: Rendering<View> = {
  json: (view) => jsonOf(ViewSchema, view),
  name: ({ name }) => name,
  columns: COLUMNS,
  wideColumns: COLUMNS,
};

const list = async (api: Api): Promise<readonly View[]> => (await api.views.listViews({})).views;

export function viewGroup(context: CommandContext): Command {
  return new Command('view')
    .description('Saved views of the console: list, save and delete them')
    .addCommand(listViews(context))
    .addCommand(showCommand(context, { noun: 'view', rendering: VIEWS, list }), { isDefault: true })
    .addCommand(saveView(context))
    .addCommand(deleteView(context));
}

function listViews(context: CommandContext): Command {
  const command = new Command('list').description('List your own views and the shared ones');
  return addListing(command, VIEWS).action(
    context.action<ListingOptions>(async ({ options, api }) =>
      writeListing(context, options, VIEWS, [await list(api)], 'no saved views yet'),
    ),
  );
}

interface ViewOptions {
  readonly output: OutputFormat;
  readonly page: string;
  readonly shared?: true;
}

function addPage(command: Command): Command {
  return command.addOption(
    oneOf(new Option('--page <page>', 'the page that it is of'), VIEW_PAGES).default('machines'),
  );
}

function saveView(context: CommandContext): Command {
  const command = new Command('save')
    .description('Save a view; one of the same name is replaced')
    .argument('<name>')
    .requiredOption('--query <query>', "the parameters of the page's URL, or the whole URL", queryOf)
    .option('--shared', 'for all who may read your scope, instead of you alone');
  addExamples(command, context.program, [
    "view save 'in repair' --query 'filter=conditions.RMA=true&group=location.rack'",
  ]);
  return addOutput(addReason(addPage(command))).action(
    context.action<ViewOptions & { query: string }>(async ({ args: [name = ''], options, api }) => {
      const { page, query, shared = false, output } = options;
      const request = { page, name, query };
      const view = await (shared ? api.views.shareView(request) : api.views.saveView(request));
      writeOne(context.out, output, VIEWS, view, () =>
        context.out.line(`${shared ? 'shared' : 'saved'} view ${view.name}`),
      );
      return 'ok';
    }),
  );
}

/** Of an address that was copied from the browser, what follows its question mark. */
function queryOf(text: string): string {
  return text.slice(text.indexOf('?') + 1);
}

function deleteView(context: CommandContext): Command {
  const command = new Command('delete')
    .description('Delete a view of your own, or a shared one')
    .argument('<name>')
    .option('--shared', 'the shared one of that name, instead of your own');
  return addOutput(addReason(addPage(command))).action(
    context.action<ViewOptions>(async ({ args: [name = ''], options, api }) => {
      const { page, shared = false, output } = options;
      const request = { page, name };
      const view = await (shared ? api.views.unshareView(request) : api.views.deleteView(request));
      writeOne(context.out, output, VIEWS, view, () => context.out.line(`deleted view ${view.name}`));
      return 'ok';
    }),
  );
}
