/** What limits the rollout, and how much of each limit is used now. */
import { useQuery } from '@tanstack/react-query';
import type { LimitUse, Rollout } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { rollouts } from '../../api/clients.ts';
import { isEnded } from '../../rollout-view.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { UseBar } from '../budgets/use-bar.tsx';

const KINDS: Readonly<Record<string, string>> = {
  max_parallel: 'At once',
  limit: 'Limit',
  budget: 'Budget',
};

export function limitTitle({ kind, name }: LimitUse): string {
  const title = KINDS[kind] ?? kind;
  return kind === 'max_parallel' ? title : `${title} ${name || 'all machines'}`;
}

/** How often the use is read again while the rollout goes on: other work uses the same limits. */
const EVERY_MS = 5_000;

export function LimitsPanel({ rollout }: { rollout: Rollout }) {
  const { rolloutId } = rollout;
  const asked = useQuery({
    queryKey: ['rollout', rolloutId, 'limits'],
    queryFn: async () => (await rollouts.getRollout({ rolloutId })).limits,
    refetchInterval: isEnded(rollout) ? false : EVERY_MS,
  });
  const limits = asked.data ?? [];
  return (
    <Panel title="Limits in use" padding={limits.length === 0 ? 'none' : 'usual'}>
      {asked.isPending && <Loading lines={2} />}
      {asked.isError && limits.length === 0 && (
        <Failed what="Failed to load the limits" error={asked.error} onRetry={() => void asked.refetch()} />
      )}
      {asked.isSuccess && limits.length === 0 && (
        <Empty title="No limits">As many machines at once as their waves have.</Empty>
      )}
      <ul className="ro-limits">
        {limits.map((limit) => (
          <li key={`${limit.kind} ${limit.name}`}>
            <UseBar title={limitTitle(limit)} group={limit.group} used={limit.used} limit={limit.limit} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
