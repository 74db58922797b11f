/**
 * Draining a machine's node: cordon it, ask its workloads to leave, and see them gone. Whether it is drained is asked
 * of the cluster at every poll, so that it does not matter who else cordons, evicts or schedules meanwhile. A workload
 * whose disruption budget refuses is asked for again, until the step's own limit.
 */

import {
  isDrained,
  type NodeObservation,
  nodeConditions,
  workloadsText,
} from '../../domain/condition/node-observation.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { ActResult, Observation, StepContext, StepHandler } from '../../engine/step-handler.ts';
import { callOf, type StepEnvironment, undoCallOf } from '../step-kind.ts';

type Handler = StepHandler<MachineChange>;
type Seen = Observation<MachineChange>;
export type ClusterStepEnvironment = StepEnvironment<'cluster'>;

const LOST_POLL_MS = 5_000;

export interface DrainRules {
  /** What a cluster without such a node means to the step. */
  readonly absent: (sight: NodeObservation) => Seen;
  /** Of a node whose kubelet does not report: nothing can be seen to leave it. */
  readonly lost: 'goes_on' | 'waits';
}

export function changeSeen(
  { machine }: Pick<StepEnvironment<never>, 'machine'>,
  sight: NodeObservation,
): MachineChange {
  return { conditions: nodeConditions(machine.phase, sight) };
}

export function drainNode(
  environment: ClusterStepEnvironment,
  clusterRef: string,
  rules: DrainRules,
): Handler {
  const { machine, capabilities } = environment;
  return {
    async observe(context) {
      const { sight, pollAfterMs } = await capabilities.cluster.node(callOf(context, machine), clusterRef);
      const { node, name } = sight;
      if (node === null) return rules.absent(sight);
      const change = changeSeen(environment, sight);
      if (isDrained(node)) return { seen: 'done', message: `${name} is cordoned and drained`, change };
      if (node.lost && context.memo.asked === true) return lostNode(name, rules, change);
      const { count, ending } = node.workloads ?? { count: 0, ending: 0 };
      if (node.takesWork || ending < count || count === 0) return { seen: 'absent' };
      return { seen: 'under_way', reason: waitingFor(count, name), pollAfterMs };
    },

    async act(context) {
      const call = callOf(context, machine);
      await context.effect(() => capabilities.cluster.cordon(call, clusterRef));
      const { refused, pollAfterMs } = await context.effect(() =>
        capabilities.cluster.evict(call, clusterRef),
      );
      if (context.memo.asked !== true) await context.save({ ...context.memo, asked: true });
      const reason = refused === '' ? `waiting for the workloads of ${machine.machineId} to leave` : refused;
      return { result: 'started', reason, pollAfterMs: Math.max(1, pollAfterMs) };
    },

    undo: (context) => undoCordon(context, environment, clusterRef),
  };
}

/** Only what this operation cordoned: a node that its owner keeps out of scheduling stays so. */
export async function undoCordon(
  context: StepContext,
  environment: ClusterStepEnvironment,
  clusterRef: string,
): Promise<ActResult<MachineChange>> {
  const { machine, capabilities } = environment;
  const call = undoCallOf(context, machine);
  const takesWork = await context.effect(() => capabilities.cluster.uncordon(call, clusterRef, 'own'));
  const { sight } = await capabilities.cluster.node(call, clusterRef);
  const message = takesWork ? 'the node takes work' : 'the node stays cordoned: it was cordoned before';
  return { result: 'done', message, change: changeSeen(environment, sight) };
}

function lostNode(name: string, rules: DrainRules, change: MachineChange): Seen {
  const message = `${name} is cordoned; its kubelet does not report, so what it carries can't be seen to end`;
  if (rules.lost === 'goes_on') return { seen: 'done', message, change };
  return { seen: 'under_way', reason: message, pollAfterMs: LOST_POLL_MS };
}

function waitingFor(count: number, name: string): string {
  return `waiting for ${workloadsText(count)} to leave ${name}`;
}
