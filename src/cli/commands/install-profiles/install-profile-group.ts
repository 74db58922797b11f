/** The commands of install profiles. The REST API and the command line call them workflows (docs/nodes.md). */
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import type { Answer } from '../../connection/rest-client.ts';
import { addListing, addOutput, addReason } from '../../input/options.ts';
import { fileSource, readYaml } from '../../input/yaml-file.ts';
import { type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';

interface ProfileBody {
  readonly name: string;
  readonly description: string;
  readonly kernel: string;
  readonly initrd: string;
  readonly cmdline: string;
  readonly image: { readonly name?: string; readonly url?: string } | null;
  readonly post_install: string;
  readonly disk: Readonly<Record<string, unknown>> | null;
  readonly has_user_data: boolean;
  readonly user_data: string | null;
  readonly network_config: string | null;
}

const imageText = ({ image }: ProfileBody): string => image?.name ?? image?.url ?? '';

const PROFILE_COLUMNS: readonly Column<ProfileBody>[] = [
  { header: 'WORKFLOW', cell: ({ name }) => name },
  { header: 'IMAGE', cell: imageText },
  { header: 'KERNEL', cell: ({ kernel }) => kernel },
  { header: 'POST_INSTALL', cell: (profile) => profile.post_install },
  { header: 'DESCRIPTION', cell: ({ description }) => description },
];

const PROFILES: Rendering<ProfileBody> = {
  json: (profile) => ({ ...profile }) as never,
  name: ({ name }) => name,
  columns: PROFILE_COLUMNS,
  wideColumns: [...PROFILE_COLUMNS, { header: 'CMDLINE', cell: ({ cmdline }) => cmdline }],
};

export function installProfileGroup(context: CommandContext): Command {
  return new Command('workflow')
    .description('Workflows: profiles of installations over the network')
    .addCommand(createProfile(context))
    .addCommand(listProfiles(context))
    .addCommand(showProfile(context), { isDefault: true })
    .addCommand(removeProfile(context));
}

function createProfile(context: CommandContext): Command {
  const command = new Command('create')
    .description('Store a workflow from a JSON or YAML file (admin); one of the same name is replaced')
    .requiredOption('-f, --file <path>', 'the file; - reads it from stdin');
  return addOutput(addReason(command)).action(
    context.restAction<{ output: OutputFormat; file: string }>(async ({ options, rest }) => {
      const source = fileSource(options.file, context.pathOf(options.file), context.stdin);
      const { document } = await readYaml(source, { noun: 'a workflow' });
      const { data } = await rest.call<Answer<ProfileBody>>('POST', '/workflows', document.toJS());
      writeOne(context.out, options.output, PROFILES, data, () =>
        context.out.line(`stored workflow ${plainText(data.name)}`),
      );
      return 'ok';
    }),
  );
}

function listProfiles(context: CommandContext): Command {
  return addListing(new Command('list').description('List workflows'), PROFILES).action(
    context.restAction<ListingOptions>(async ({ options, rest }) => {
      const { data } = await rest.call<Answer<ProfileBody[]>>('GET', '/workflows');
      return writeListing(context, options, PROFILES, [data], 'no workflows yet');
    }),
  );
}

function showProfile(context: CommandContext): Command {
  const command = new Command('show').alias('get').description('Show one workflow').argument('<name>');
  return addOutput(command).action(
    context.restAction<{ output: OutputFormat }>(async ({ args: [name = ''], options, rest }) => {
      const { data } = await rest.call<Answer<ProfileBody>>('GET', `/workflows/${encodeURIComponent(name)}`);
      writeOne(context.out, options.output, PROFILES, data, () => {
        for (const [field, value] of Object.entries(data)) {
          // These have several lines and may contain secrets: they are only in JSON.
          if (field === 'user_data' || field === 'network_config') continue;
          const text =
            typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
          context.out.line(`${`${field}:`.padEnd(14)}${plainText(text) || '-'}`);
        }
      });
      return 'ok';
    }),
  );
}

function removeProfile(context: CommandContext): Command {
  const command = new Command('delete')
    .alias('remove')
    .description('Delete a stored workflow (admin)')
    .argument('<name>');
  return addReason(command).action(
    context.restAction<Record<string, never>>(async ({ args: [name = ''], rest }) => {
      await rest.call('DELETE', `/workflows/${encodeURIComponent(name)}`);
      context.out.line(`removed workflow ${plainText(name)}`);
      return 'ok';
    }),
  );
}
