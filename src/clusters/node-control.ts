/**
 * Cordon, drain and uncordon of a machine's node, through the cluster's API.
 *
 * Which operation a cordon belongs to must be known when it is taken back, also after a crash and on another replica, so it is
 * written on the node itself: "made-by-<operation>" in the same request that cordons, "found-by-<operation>" where
 * someone else had cordoned the node before. Only what was made is taken back; a node that its owner keeps out of
 * scheduling stays so. A cordon that an earlier operation of ours left becomes the later one's.
 */

import { inClusterCondition, type NodeObservation } from '../domain/condition/node-observation.ts';
import type { Machine } from '../domain/machine/machine.ts';
import { StepFailure } from '../engine/step-handler.ts';
import {
  type ClusterProbeResult,
  type NodeControl,
  operationOf,
  type ProviderCall,
} from '../providers/provider.ts';
import type { ClusterApi, NodeView, WorkloadView } from './cluster-api.ts';
import { ClusterFailure } from './cluster-failure.ts';
import { type Clusters, clusterNamed } from './clusters.ts';
import { checkedNodeName, isNodeName, nodeNameOf } from './node-name.ts';

/** How soon to poll whether pods have ended, at first and from then on, and to ask again for one that may not leave yet. */
const FIRST_POLL_MS = 500;
const POLL_AFTER_MS = 2_000;
const ASK_AGAIN_MS = 5_000;
const MADE = 'made-by-';
const FOUND = 'found-by-';

export function createNodeControl(clusters: Clusters): NodeControl {
  const nodeOf = async (call: ProviderCall, clusterRef: string) => {
    const { api } = clusterNamed(clusters, clusterRef);
    const name = checkedNodeName(call.machine);
    return { api, name, node: await api.node(name, call.signal) };
  };
  /** For what can't be done without a node. */
  const presentNode = async (call: ProviderCall, clusterRef: string) => {
    const { api, name, node } = await nodeOf(call, clusterRef);
    if (node !== null) return { api, name, node };
    throw nodeNotFound(clusterRef, name);
  };
  return {
    async node(call, clusterRef) {
      const { api, name, node } = await nodeOf(call, clusterRef);
      const sight = await sightOf(api, { cluster: clusterRef, name, node }, call.signal);
      return { sight, pollAfterMs: POLL_AFTER_MS };
    },

    async cordon(call, clusterRef) {
      const { api, name, node } = await presentNode(call, clusterRef);
      const operation = operationOf(call);
      const found = !node.schedulable && !node.cordonMark.startsWith(MADE);
      const mark = `${found ? FOUND : MADE}${operation}`;
      if (!node.schedulable && node.cordonMark === mark) return;
      call.log(found ? `${name} is cordoned already, and not by us` : `Cordoning ${name} in ${clusterRef}`);
      call.checkHeld();
      await api.setCordon(name, { unschedulable: true, mark }, call.signal);
    },

    async evict(call, clusterRef) {
      const { api, name } = await presentNode(call, clusterRef);
      const staying = (await api.workloads(name, call.signal)).filter(({ ending }) => !ending);
      const refusals: string[] = [];
      for (const pod of staying) {
        const refusal = await evictOne(api, call, pod);
        if (refusal !== null) refusals.push(refusal);
      }
      const [first] = refusals;
      if (first === undefined) return { refused: '', pollAfterMs: FIRST_POLL_MS };
      const others = refusals.length === 1 ? '' : ` (and ${refusals.length - 1} more)`;
      return { refused: `${first}${others}`, pollAfterMs: ASK_AGAIN_MS };
    },

    async uncordon(call, clusterRef, whose) {
      const { api, name, node } = await nodeOf(call, clusterRef);
      if (node === null && whose === 'any') throw nodeNotFound(clusterRef, name);
      if (node === null || node.schedulable) return node !== null;
      const operation = operationOf(call);
      const allowed =
        whose === 'own'
          ? node.cordonMark === `${MADE}${operation}`
          : node.cordonMark !== `${FOUND}${operation}`;
      if (!allowed) {
        call.log(`${name} stays cordoned: it was cordoned before`);
        return false;
      }
      await openNode(api, call, name);
      return true;
    },
  };
}

/** Takes back what an operation of ours left on the node of a machine that joins again. */
export async function openIfOurs(api: ClusterApi, call: ProviderCall, node: NodeView | null): Promise<void> {
  if (node === null || node.schedulable || !node.cordonMark.startsWith(MADE)) return;
  await openNode(api, call, node.name);
}

async function openNode(api: ClusterApi, call: ProviderCall, name: string): Promise<void> {
  call.log(`Uncordoning ${name}`);
  call.checkHeld();
  await api.setCordon(name, { unschedulable: false, mark: '' }, call.signal);
}

/** Null, or why the pod may not leave yet. */
async function evictOne(api: ClusterApi, call: ProviderCall, pod: WorkloadView): Promise<string | null> {
  const where = `${pod.namespace}/${pod.name}`;
  call.checkHeld();
  try {
    await api.evict(pod, call.signal);
    call.log(
      `Evicted ${where}${pod.managed ? '' : ', which has no controller: nothing starts it elsewhere'}`,
    );
    return null;
  } catch (error) {
    if (!(error instanceof ClusterFailure) || error.status !== 429) throw error;
    const why = error.said === '' ? 'the cluster says: not now' : error.said;
    call.log(`${where} may not leave yet: ${why}`);
    return `${where} may not leave yet: ${why}`;
  }
}

function nodeNotFound(cluster: string, name: string): StepFailure {
  return new StepFailure({
    class: 'permanent',
    code: 'NODE_NOT_FOUND',
    message: `${cluster} has no node ${name}; join the machine, or name its node with the label ingot/node-name`,
  });
}

interface Asked {
  readonly cluster: string;
  readonly name: string;
  readonly node: NodeView | null;
}

/** Pods are counted only where the count matters: a node that takes work is not drained. */
async function sightOf(
  api: ClusterApi,
  { cluster, name, node }: Asked,
  signal: AbortSignal,
): Promise<NodeObservation> {
  if (node === null) return { cluster, name, node: null };
  const pods = node.schedulable ? null : await api.workloads(name, signal);
  return {
    cluster,
    name,
    node: {
      ready: node.ready,
      lost: node.lost,
      why: node.message === '' ? node.reason : node.message,
      takesWork: node.schedulable,
      kubeletVersion: node.kubeletVersion,
      workloads: pods && { count: pods.length, ending: pods.filter(({ ending }) => ending).length },
    },
  };
}

/**
 * Whether a machine is where it is meant to be, out of the list that all probes share; a node that differs
 * there from the machine's conditions, or that is cordoned, is read individually, because the list may be older than
 * what an operation has done since. Throws when the cluster does not answer: then it is not known whether the machine is
 * in it.
 */
export async function probeCluster(
  clusters: Clusters,
  machine: Machine,
  signal: AbortSignal,
): Promise<ClusterProbeResult | null> {
  const wanted = machine.spec.target_cluster_ref;
  if (wanted === '') return null;
  const cluster = clusters.get(wanted);
  if (!cluster) return not('UnknownCluster', `the cluster ${wanted} is not in the configuration`);
  const name = nodeNameOf(machine);
  if (!isNodeName(name)) return not('NodeNameInvalid', `"${name}" can't be the name of a node`);
  const listed = await cluster.nodes.find(name, signal);
  const { api } = cluster;
  const node = isNews(machine, listed) ? await api.node(name, signal) : listed;
  const sight = await sightOf(api, { cluster: wanted, name, node }, signal);
  const { status: ok, ...verdict } = inClusterCondition(sight);
  return { ok, ...verdict, sight };
}

function isNews({ conditions }: Machine, listed: NodeView | null): boolean {
  const { InCustomerCluster: inside, Drained: drained } = conditions;
  if (listed !== null && !listed.schedulable) return true;
  if (drained?.status === true && listed !== null) return true;
  return inside !== undefined && inside.status !== (listed?.ready ?? false);
}

function not(reason: string, message: string): ClusterProbeResult {
  return { ok: false, reason, message };
}
