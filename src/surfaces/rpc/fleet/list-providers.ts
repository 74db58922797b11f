/** The providers that machines can have, also those without a machine. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Caller } from '../../../domain/access/caller.ts';
import type { ListProvidersResponseSchema } from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { countMachines } from '../../../store/machines/count-machines.ts';
import { groupKey } from '../../../store/machines/machine-keys.ts';
import type { ServerDependencies } from '../server-dependencies.ts';

/** Where a provider comes from: its kind, and whether the configuration names it. */
export interface ProviderOrigin {
  readonly kind: string;
  readonly source: 'configuration' | 'built-in';
}

type Answer = MessageInitShape<typeof ListProvidersResponseSchema>;

export async function listProviders(dependencies: ServerDependencies, caller: Caller): Promise<Answer> {
  const { providers, providerOrigins, defaultProvider } = dependencies;
  const visible = caller.scope === null ? null : await providersInScope(dependencies, caller);
  const names = [...providers.keys()].filter((name) => visible?.has(name) ?? true).toSorted();
  return {
    providers: names.map((name) => {
      const { kind = '', source = '' } = providerOrigins.get(name) ?? {};
      const capabilities = Object.keys(providers.get(name)?.capabilities ?? {}).toSorted();
      return { name, kind, source, capabilities, isDefault: name === defaultProvider };
    }),
  };
}

/** A caller with a scope does not learn which others the site has. */
async function providersInScope(
  { database }: ServerDependencies,
  { scope }: Caller,
): Promise<ReadonlySet<string>> {
  const { facets } = await database.snapshot((session) =>
    countMachines(session, { filter: null, scope, keys: [groupKey('provider', 'facets')] }),
  );
  return new Set(facets.flatMap(({ values }) => values.map(({ value }) => value)));
}
