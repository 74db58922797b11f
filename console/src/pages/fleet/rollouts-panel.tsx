import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { toneOf } from '../../../../src/domain/tone.ts';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { rollouts } from '../../api/clients.ts';
import { listOf, rolloutHref } from '../../pages.ts';
import { finishedOf, rolloutState, stateText, titleOf, UNDER_WAY } from '../../rollout-view.ts';
import '../../styles/rollout.css';
import { Failed, Loading } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { CountsBar } from '../rollout/counts-bar.tsx';
import { headlineOf } from '../rollout/headline.ts';
import { numberText } from './counts.ts';

const SHOWN = 5;

/** Rollouts that have not ended; nothing where there are none. */
export function RolloutsPanel({ overview }: { overview: Overview }) {
  const byState = Object.entries(overview.rollouts).filter(([, count]) => count > 0);
  if (byState.length === 0) return null;
  const total = byState.reduce((sum, [, count]) => sum + count, 0);
  return (
    <Panel
      title="Rollouts"
      padding="none"
      actions={<Link href={listOf('/rollouts', UNDER_WAY)}>View all {numberText(total)}</Link>}
    >
      <p className="by-type">
        {byState.map(([state, count]) => (
          <Link key={state} href={listOf('/rollouts', `state=${state}`)}>
            {numberText(count)} {state}
          </Link>
        ))}
      </p>
      <UnderWay />
    </Panel>
  );
}

function UnderWay() {
  const list = useQuery({
    queryKey: ['fleet-wide', 'fleet-rollouts'],
    queryFn: async () => (await rollouts.listRollouts({ filter: UNDER_WAY, pageSize: SHOWN })).rollouts,
  });
  if (list.isPending) return <Loading />;
  if (list.isError && !list.data)
    return <Failed what="Failed to load rollouts" error={list.error} onRetry={() => void list.refetch()} />;
  return (
    <table className="table fixed">
      <thead>
        <tr>
          <th>Rollout</th>
          <th className="wide">State</th>
          <th className="wide">Machines</th>
        </tr>
      </thead>
      <tbody>
        {list.data.map((rollout) => (
          <tr key={rollout.rolloutId}>
            <td>
              <Link className="clipped" href={rolloutHref(rollout.rolloutId)}>
                {titleOf(rollout)}
              </Link>
              <div className="soft clipped" title={headlineOf(rollout).text}>
                {headlineOf(rollout).text}
              </div>
            </td>
            <td>
              <span className={`badge tone-${toneOf('rollout', rolloutState(rollout))}`}>
                {stateText(rolloutState(rollout))}
              </span>
            </td>
            <td>
              <CountsBar counts={rollout.machines} />
              <div className="soft numeric">
                {numberText(finishedOf(rollout.machines))} of {numberText(rollout.machines?.total ?? 0)}
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
