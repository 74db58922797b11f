import { Link } from 'wouter';
import type { ToneLayer } from '../../../../src/domain/tone.ts';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { listOf } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ageText } from '../../ui/time.tsx';
import { numberText } from './counts.ts';

const LAYERS: Readonly<Record<string, ToneLayer>> = {
  effective_state: 'effective_state',
  service: 'service',
  install: 'install',
};

/** Machines that have exceeded the time limit of a state. */
export function OverduePanel({ overview: { overdue } }: { overview: Overview }) {
  return (
    <Panel title="Overdue" padding="none">
      {overdue.length === 0 ? (
        <Empty title="Nothing overdue" />
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th className="number">Machines</th>
              <th>State</th>
              <th>Time limit</th>
            </tr>
          </thead>
          <tbody>
            {overdue.map(({ layer, state, machines, filter, limitSeconds }) => (
              <tr key={`${layer} ${state}`}>
                <td className="number">
                  <Link
                    href={listOf('/machines', filter)}
                    aria-label={`${machines} machines overdue in ${layer} ${state}`}
                  >
                    {numberText(machines)}
                  </Link>
                </td>
                <td>
                  <StateBadge layer={LAYERS[layer] ?? 'status'} state={state} />{' '}
                  <span className="soft">{layer.replace('_', ' ')}</span>
                </td>
                <td>{limitSeconds === 0n ? 'its duration' : ageText(Number(limitSeconds) * 1000)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
