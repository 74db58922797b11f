/** The providers that machines have, and whether their upstreams can be read. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { fleet } from '../../api/clients.ts';
import { listOf, quoted } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age } from '../../ui/time.tsx';
import { numberText } from '../fleet/counts.ts';

interface ProviderRow {
  readonly name: string;
  readonly about: string;
  readonly capabilities: string;
}

export function ProvidersPage() {
  const counts = useQuery({
    queryKey: ['fleet-wide', 'providers'],
    queryFn: () => fleet.countMachines({ facets: ['provider'] }),
  });
  const attention = useQuery({
    queryKey: ['fleet-wide', 'providers-attention'],
    queryFn: () => fleet.countMachines({ filter: 'needs_attention = true', facets: ['provider'] }),
  });
  const overview = useQuery({ queryKey: ['fleet-wide', 'overview'], queryFn: () => fleet.getOverview({}) });
  const troubled = new Map(attention.data?.facets[0]?.values.map(({ value, machines }) => [value, machines]));
  const unread = new Map(overview.data?.unhealthyUpstreams.map((upstream) => [upstream.provider, upstream]));
  const configured = useQuery({
    queryKey: ['providers'],
    queryFn: async () => (await fleet.listProviders({})).providers,
  });
  const machinesOf = new Map(counts.data?.facets[0]?.values.map(({ value, machines }) => [value, machines]));
  const known = configured.data ?? [];
  // Machines may name one that the configuration has no more.
  const gone = [...machinesOf.keys()].filter((name) => known.every((one) => one.name !== name));
  const providers: readonly ProviderRow[] = [
    ...known.map(({ name, kind, isDefault, capabilities }) => ({
      name,
      about: `${kind}${isDefault ? ', default' : ''}`,
      capabilities: capabilities.join(', '),
    })),
    ...(configured.data ? gone.map((name) => ({ name, about: 'not configured', capabilities: '' })) : []),
  ];
  return (
    <>
      <PageTitle title="Providers" />
      <Panel title="Providers" padding="none">
        {(counts.isPending || configured.isPending) && <Loading lines={4} />}
        {counts.isError && !counts.data && (
          <Failed
            what="Failed to load providers"
            error={counts.error}
            onRetry={() => void counts.refetch()}
          />
        )}
        {counts.data && configured.data && providers.length === 0 && (
          <Empty title="No machines yet">
            <span>
              A provider is how the server reaches a machine: MAAS, Redfish, IPMI, SSH. It is configured on
              the server, and each machine names one.
            </span>
            <Link className="button primary" href="/start">
              Connect machines
            </Link>
          </Empty>
        )}
        {providers.length > 0 && (
          <table className="table">
            <thead>
              <tr>
                <th>Provider</th>
                <th>Kind</th>
                <th className="number">Machines</th>
                <th className="number">Need attention</th>
                <th>Can</th>
                <th>Upstream</th>
              </tr>
            </thead>
            <tbody>
              {providers.map(({ name: value, about, capabilities }) => {
                const mine = `provider = ${quoted(value)}`;
                const failure = unread.get(value);
                return (
                  <tr key={value}>
                    <td>
                      <Link href={listOf('/machines', mine)}>{value || 'none'}</Link>
                    </td>
                    <td className="soft">{about}</td>
                    <td className="number">{numberText(machinesOf.get(value) ?? 0)}</td>
                    <td className="number">
                      <Link
                        href={listOf('/machines', `${mine} AND needs_attention = true`)}
                        aria-label={`${troubled.get(value) ?? 0} machines of ${value} need attention`}
                      >
                        {numberText(troubled.get(value) ?? 0)}
                      </Link>
                    </td>
                    <td className="wraps soft">{capabilities}</td>
                    <td>
                      {failure ? (
                        <span className="fault">
                          {failure.failure}; last read{' '}
                          {failure.readAt ? <Age at={failure.readAt} /> : 'never'}
                        </span>
                      ) : (
                        <span className="soft">No error</span>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </Panel>
    </>
  );
}
