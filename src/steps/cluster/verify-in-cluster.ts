import { z } from 'zod';
import { inClusterCondition } from '../../domain/condition/node-observation.ts';
import { callOf, type StepKind } from '../step-kind.ts';
import { completeCluster } from './cluster-ref.ts';

const config = z.object({ cluster_ref: z.string().default('') });
type Config = z.output<typeof config>;

const POLL_AFTER_MS = 2_000;
const NOT_READY = { sight: null } as const;

/** Only observes; there is nothing to start. */
export const verifyInCluster: StepKind<Config, 'cluster'> = {
  kind: 'verify',
  needs: () => ['cluster'],
  config: config as z.ZodType<Config>,
  title: 'Verifying node',
  doneTitle: 'Node is ready',
  complete: completeCluster,
  canUndo: false,
  handler: ({ cluster_ref: clusterRef }, { machine, capabilities }) => ({
    async observe(context) {
      const call = callOf(context, machine);
      const { sight } = (await capabilities.cluster.ready(call, clusterRef))
        ? await capabilities.cluster.node(call, clusterRef)
        : NOT_READY;
      if (!sight?.node?.ready) {
        const reason = `waiting for the node to be Ready in ${clusterRef}`;
        return { seen: 'under_way', reason, pollAfterMs: POLL_AFTER_MS };
      }
      const inCluster = inClusterCondition(sight);
      const { message } = inCluster;
      context.log(`Node is ${message}`);
      return { seen: 'done', message, change: { conditions: [{ type: 'InCustomerCluster', ...inCluster }] } };
    },
    async act() {
      return { result: 'started', reason: 'nothing to start', pollAfterMs: POLL_AFTER_MS };
    },
  }),
};
