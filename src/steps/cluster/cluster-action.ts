import { z } from 'zod';
import type { NodeObservation } from '../../domain/condition/node-observation.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepHandler } from '../../engine/step-handler.ts';
import { callOf, type StepKind } from '../step-kind.ts';
import { completeCluster } from './cluster-ref.ts';
import { type ClusterStepEnvironment, changeSeen, drainNode, undoCordon } from './drain-node.ts';

const config = z.object({
  action: z.enum(['cordon', 'drain', 'uncordon']),
  cluster_ref: z.string().default(''),
});
type Config = z.output<typeof config>;
type Handler = StepHandler<MachineChange>;

/** Made again by every new attempt: the cluster's own mark says whose the cordon is, and a second one changes nothing. */
function cordon(environment: ClusterStepEnvironment, clusterRef: string): Handler {
  const { machine, capabilities } = environment;
  return {
    async observe(context) {
      if (context.memo.asked !== true) return { seen: 'absent' };
      const { sight } = await capabilities.cluster.node(callOf(context, machine), clusterRef);
      if (sight.node?.takesWork !== false) return { seen: 'absent' };
      return {
        seen: 'done',
        message: `${shown(sight)} takes no new work`,
        change: changeSeen(environment, sight),
      };
    },
    async act(context) {
      await context.effect(() => capabilities.cluster.cordon(callOf(context, machine), clusterRef));
      await context.save({ asked: true });
      return { result: 'started', reason: 'waiting for the node to take no new work', pollAfterMs: 0 };
    },
    undo: (context) => undoCordon(context, environment, clusterRef),
  };
}

/** Without a node there is nothing to drain: acting on it says so. */
function drain(environment: ClusterStepEnvironment, clusterRef: string): Handler {
  return drainNode(environment, clusterRef, { absent: () => ({ seen: 'absent' }), lost: 'waits' });
}

function uncordon(environment: ClusterStepEnvironment, clusterRef: string): Handler {
  const { machine, capabilities } = environment;
  return {
    async observe(context) {
      const { sight } = await capabilities.cluster.node(callOf(context, machine), clusterRef);
      if (!sight.node?.takesWork) return { seen: 'absent' };
      return { seen: 'done', message: `${shown(sight)} takes work`, change: changeSeen(environment, sight) };
    },
    async act(context) {
      const call = callOf(context, machine);
      const takesWork = await context.effect(() => capabilities.cluster.uncordon(call, clusterRef, 'any'));
      const { sight } = await capabilities.cluster.node(call, clusterRef);
      const message = takesWork
        ? `${shown(sight)} takes work`
        : `${sight.name} stays cordoned: it was cordoned before`;
      return { result: 'done', message, change: changeSeen(environment, sight) };
    },
  };
}

/** With the version that it runs: before and after an upgrade. */
function shown({ name, node }: NodeObservation): string {
  return node === null || node.kubeletVersion === '' ? name : `${name} (kubelet ${node.kubeletVersion})`;
}

const HANDLERS = { cordon, drain, uncordon } as const satisfies Record<
  Config['action'],
  (environment: ClusterStepEnvironment, clusterRef: string) => Handler
>;

/** Cordon, drain or uncordon of the machine's node, through the cluster's API. */
export const clusterAction: StepKind<Config, 'cluster'> = {
  kind: 'cluster',
  needs: () => ['cluster'],
  config: config as z.ZodType<Config>,
  title: 'Changing node',
  doneTitle: 'Node changed',
  complete: (written, machine) => ({ ...written, ...completeCluster(written, machine) }),
  canUndo: ({ action }) => action !== 'uncordon',
  handler: ({ action, cluster_ref: clusterRef }, environment) => HANDLERS[action](environment, clusterRef),
};
