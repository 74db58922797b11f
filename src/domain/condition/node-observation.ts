/**
 * What a cluster reports for a machine's node, and which conditions follow from it. Steps and probes share these rules, so
 * that InCustomerCluster and Drained always mean the same.
 *
 * One combination is excluded: Drained together with InCustomerCluster and a node that takes work. The reason of
 * InCustomerCluster tells whether the node takes work, so the exclusion is a function of the conditions alone, and
 * applyChange calls it after every change of a machine.
 */

import type { Phase } from '../machine/phase.ts';
import type { ConditionChange, Conditions } from './condition.ts';

export interface ClusterNode {
  readonly ready: boolean;
  /** Its kubelet stopped reporting: its pods can't be observed, and can't be stopped through the cluster. */
  readonly lost: boolean;
  /** Why it is not Ready; empty where the cluster gives no reason. */
  readonly why: string;
  /** New work may be placed on it: it is not cordoned. */
  readonly takesWork: boolean;
  readonly kubeletVersion: string;
  /** Pods that a drain moves away: not those of DaemonSets, and no static pods. Null: not counted. */
  readonly workloads: { readonly count: number; readonly ending: number } | null;
}

export interface NodeObservation {
  readonly cluster: string;
  /** The node's name in the cluster. */
  readonly name: string;
  /** Null: the cluster was asked, and has no such node. */
  readonly node: ClusterNode | null;
}

export type Verdict = Pick<ConditionChange, 'status' | 'reason' | 'message'>;

/** The reason of InCustomerCluster for a node that is Ready and takes no work. */
const NODE_CORDONED = 'NodeCordoned';
/** The reason of Drained that only holds while the machine stays in maintenance. */
export const OUT_OF_CLUSTER = 'OutOfCluster';

export function inClusterCondition({ cluster, name, node }: NodeObservation): Verdict {
  if (node === null) return { status: false, reason: 'NotJoined', message: `${cluster} has no node ${name}` };
  if (!node.ready) {
    const why = node.why === '' ? '' : `: ${node.why.slice(0, 300)}`;
    return { status: false, reason: 'NodeNotReady', message: `NotReady in ${cluster}${why}` };
  }
  if (node.takesWork) return { status: true, reason: 'NodeReady', message: `Ready in ${cluster}` };
  return { status: true, reason: NODE_CORDONED, message: `Ready in ${cluster}, and cordoned` };
}

/** Null where the observation does not decide it. */
export function drainedCondition(phase: Phase, { cluster, name, node }: NodeObservation): Verdict | null {
  if (node === null) {
    if (phase !== 'MAINTENANCE') return null;
    const message = `in maintenance, and ${cluster} has no node ${name}`;
    return { status: true, reason: OUT_OF_CLUSTER, message };
  }
  if (node.takesWork) {
    return { status: false, reason: 'NodeTakesWork', message: `its node takes work in ${cluster}` };
  }
  if (node.workloads === null) return null;
  if (node.workloads.count > 0) {
    const message = `cordoned in ${cluster}, with ${workloadsText(node.workloads.count)} left`;
    return { status: false, reason: 'WorkloadsLeft', message };
  }
  // A cluster also forgets the pods of a node that it can't reach, which may still run.
  if (node.lost) return null;
  const message = `cordoned in ${cluster}, and carries no workloads`;
  return { status: true, reason: 'NodeDrained', message };
}

export function workloadsText(count: number): string {
  return count === 1 ? '1 workload' : `${count} workloads`;
}

export function isDrained({ takesWork, lost, workloads }: ClusterNode): boolean {
  return !takesWork && !lost && workloads?.count === 0;
}

/** The changes that a step records after it has asked the cluster. */
export function nodeConditions(phase: Phase, observation: NodeObservation): ConditionChange[] {
  const drained = drainedCondition(phase, observation);
  return [
    { type: 'InCustomerCluster', ...inClusterCondition(observation) },
    ...(drained ? [{ type: 'Drained' as const, ...drained }] : []),
  ];
}

/** The change that clears Drained where it contradicts InCustomerCluster; null where it does not. */
export function contradictedDrained({ Drained, InCustomerCluster }: Conditions): ConditionChange | null {
  if (!Drained?.status || !InCustomerCluster?.status) return null;
  if (InCustomerCluster.reason === NODE_CORDONED) return null;
  return { type: 'Drained', status: false, reason: 'NodeTakesWork', message: InCustomerCluster.message };
}
