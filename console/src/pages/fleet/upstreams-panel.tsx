import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { Panel } from '../../ui/panel.tsx';
import { Age } from '../../ui/time.tsx';

/** Upstreams, such as a MAAS, whose machines cannot be read: their observed state is out of date. */
export function UpstreamsPanel({ overview: { unhealthyUpstreams } }: { overview: Overview }) {
  if (unhealthyUpstreams.length === 0) return null;
  return (
    <Panel title="Upstream errors" padding="none">
      <table className="table fixed">
        <thead>
          <tr>
            <th className="narrow">Provider</th>
            <th>Error</th>
            <th className="narrow">Last read</th>
          </tr>
        </thead>
        <tbody>
          {unhealthyUpstreams.map(({ provider, failure, readAt }) => (
            <tr key={provider}>
              <td>{provider}</td>
              <td>{failure}</td>
              <td>{readAt ? <Age at={readAt} /> : 'never'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
