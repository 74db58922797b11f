import { z } from 'zod';
import { completeCluster } from './cluster-ref.ts';
import { callOf, type StepKind } from './step-kind.ts';

const config = z.object({ cluster_ref: z.string().default('') });
type Config = z.output<typeof config>;

const LOOK_AGAIN_MS = 2_000;

/** Only looks; there is nothing to set off. */
export const verifyInCluster: StepKind<Config, 'cluster'> = {
  kind: 'verify',
  needs: () => ['cluster'],
  config: config as z.ZodType<Config>,
  title: 'Verifying node',
  doneTitle: 'Node is ready',
  complete: completeCluster,
  canUndo: false,
  handler: ({ cluster_ref: clusterRef }, { machine, can }) => ({
    async observe(context) {
      if (!(await can.cluster.ready(callOf(context, machine), clusterRef))) {
        const reason = `waiting for the node to be Ready in ${clusterRef}`;
        return { seen: 'under_way', reason, lookAgainMs: LOOK_AGAIN_MS };
      }
      const message = `Ready in ${clusterRef}`;
      context.log(`Node is ${message}`);
      return {
        seen: 'done',
        message,
        change: { conditions: [{ type: 'InCustomerCluster', status: true, reason: 'NodeReady', message }] },
      };
    },
    async act() {
      return { result: 'started', reason: 'nothing to set off', lookAgainMs: LOOK_AGAIN_MS };
    },
  }),
};
