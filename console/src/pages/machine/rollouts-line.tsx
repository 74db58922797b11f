import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { toneOf } from '../../../../src/domain/tone.ts';
import { rollouts } from '../../api/clients.ts';
import { quoted, rolloutHref } from '../../pages.ts';
import { rolloutState, stateText, titleOf, UNDER_WAY } from '../../rollout-view.ts';

const MOST = 5;

/** The rollouts that the machine is part of and that have not ended: they may start work on it. */
export function RolloutsLine({ machineId }: { machineId: string }) {
  const list = useQuery({
    queryKey: ['machine', machineId, 'rollouts'],
    queryFn: async () => {
      const filter = `machine_id = ${quoted(machineId)} AND (${UNDER_WAY})`;
      return (await rollouts.listRollouts({ filter, pageSize: MOST })).rollouts;
    },
  });
  if (!list.data || list.data.length === 0) return null;
  return (
    <p className="row">
      <span className="soft">Part of</span>
      {list.data.map((rollout) => (
        <span key={rollout.rolloutId} className="row">
          <Link href={rolloutHref(rollout.rolloutId)}>{titleOf(rollout)}</Link>
          <span className={`badge tone-${toneOf('rollout', rolloutState(rollout))}`}>
            {stateText(rolloutState(rollout))}
          </span>
        </span>
      ))}
    </p>
  );
}
