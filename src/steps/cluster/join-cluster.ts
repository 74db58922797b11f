import { z } from 'zod';
import { callOf, type StepKind } from '../step-kind.ts';
import { completeCluster } from './cluster-ref.ts';

const config = z.object({ cluster_ref: z.string().default('') });
type Config = z.output<typeof config>;

export const joinCluster: StepKind<Config, 'cluster'> = {
  kind: 'join',
  needs: () => ['cluster'],
  config: config as z.ZodType<Config>,
  title: 'Joining cluster',
  doneTitle: 'Joined cluster',
  complete: completeCluster,
  canUndo: false,
  handler: ({ cluster_ref: clusterRef }, { machine, capabilities }) => ({
    async observe(context) {
      const membership = await capabilities.cluster.membership(callOf(context, machine), clusterRef);
      if (membership.joined) return { seen: 'done', message: `joined ${clusterRef}` };
      if (!membership.pending) return { seen: 'absent' };
      return { seen: 'under_way', reason: `joining ${clusterRef}`, pollAfterMs: membership.pollAfterMs };
    },
    async act(context) {
      await context.effect(() => capabilities.cluster.join(callOf(context, machine), clusterRef));
      return { result: 'started', reason: `joining ${clusterRef}`, pollAfterMs: 0 };
    },
  }),
};
