/** Providers: what the server's configuration has, and what each can do. */
import { Command } from 'commander';
import { type ProviderInfo, ProviderInfoSchema } from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { addListing } from '../../input/options.ts';
import { jsonOf, type Rendering } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { showCommand } from '../show-from-list.ts';

const COLUMNS: Rendering<ProviderInfo>['columns'] = [
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'KIND', cell: ({ kind }) => kind, stays: 'longest' },
  { header: 'DEFAULT', cell: ({ isDefault }) => (isDefault ? 'yes' : ''), stays: 'longest' },
  { header: 'SOURCE', cell: ({ source }) => source },
  { header: 'CAPABILITIES', cell: ({ capabilities }) => capabilities.join(', ') },
];

const PROVIDERS: Rendering<ProviderInfo> = {
  json: (provider) => jsonOf(ProviderInfoSchema, provider),
  name: ({ name }) => name,
  columns: COLUMNS,
  wideColumns: COLUMNS,
};

const list = async (api: Api): Promise<readonly ProviderInfo[]> =>
  (await api.fleet.listProviders({})).providers;

export function providerGroup(context: CommandContext): Command {
  return new Command('provider')
    .description('Providers that machines can have: list and show')
    .addCommand(listProviders(context))
    .addCommand(showCommand(context, { noun: 'provider', rendering: PROVIDERS, list }), { isDefault: true });
}

function listProviders(context: CommandContext): Command {
  const command = new Command('list').description('List the configured and the built-in providers');
  return addListing(command, PROVIDERS).action(
    context.action<ListingOptions>(async ({ options, api }) =>
      writeListing(context, options, PROVIDERS, [await list(api)], 'no providers'),
    ),
  );
}
