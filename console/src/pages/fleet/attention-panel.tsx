import { Link } from 'wouter';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { listOf, machineHref } from '../../pages.ts';
import { Empty } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age } from '../../ui/time.tsx';
import { numberText } from './counts.ts';

export function AttentionPanel({ overview: { attention } }: { overview: Overview }) {
  return (
    <Panel title="Needs attention" padding="none">
      {attention.length === 0 ? (
        <Empty title="Nothing needs attention" />
      ) : (
        <table className="table fixed">
          <thead>
            <tr>
              <th className="number narrow">Machines</th>
              <th>Reason</th>
              <th className="narrow">Latest</th>
            </tr>
          </thead>
          <tbody>
            {attention.map((group) => (
              <tr key={`${group.condition} ${group.reason}`}>
                <td className="number">
                  <Link
                    href={listOf('/machines', group.filter)}
                    aria-label={`${group.machines} machines: ${group.condition}, ${group.reason}`}
                  >
                    {numberText(group.machines)}
                  </Link>
                </td>
                <td>
                  <strong>{group.condition}</strong> <span className="soft">{group.reason}</span>
                  <div className="soft clipped">
                    <Link href={machineHref(group.exampleMachineId)}>{group.exampleMachineId}</Link>
                    {group.exampleMessage && `: ${group.exampleMessage}`}
                  </div>
                </td>
                <td>
                  <Age at={group.newest} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
