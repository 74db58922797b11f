/** The scopes that tokens have: who is in each, and how many machines it has. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Token } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { fleet } from '../../api/clients.ts';
import { listOf } from '../../pages.ts';
import { Empty } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { numberText } from '../fleet/counts.ts';

export function ScopesPanel({ tokens }: { tokens: readonly Token[] }) {
  const scopes = [...new Set(tokens.map(({ scope }) => scope))].toSorted();
  return (
    <Panel title="Scopes" padding="none">
      {scopes.length === 0 ? (
        <Empty title="No token has a scope" />
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th>Scope</th>
              <th className="number">Machines</th>
              <th>Tokens</th>
            </tr>
          </thead>
          <tbody>
            {scopes.map((scope) => (
              <tr key={scope}>
                <td>{scope === '' ? 'The whole fleet' : <code>{scope}</code>}</td>
                <td className="number">
                  <Machines scope={scope} />
                </td>
                <td className="wraps">
                  {tokens
                    .filter((token) => token.scope === scope)
                    .map(({ name, role }) => `${name} (${role})`)
                    .join(', ')}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function Machines({ scope }: { scope: string }) {
  const count = useQuery({
    queryKey: ['fleet-wide', 'scope', scope],
    queryFn: async () => (await fleet.countMachines({ filter: scope })).total,
  });
  if (count.data === undefined) return <span className="soft">–</span>;
  return <Link href={listOf('/machines', scope)}>{numberText(count.data)}</Link>;
}
