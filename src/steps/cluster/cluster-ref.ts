import { Fault } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';

/** A step that names no cluster means the one that the machine is meant for. */
export function completeCluster(config: { cluster_ref: string }, machine: Machine): { cluster_ref: string } {
  const clusterRef = config.cluster_ref === '' ? machine.spec.target_cluster_ref : config.cluster_ref;
  if (clusterRef !== '') return { cluster_ref: clusterRef };
  throw new Fault('NO_TARGET_CLUSTER', {
    message: `the plan needs the cluster of ${machine.machineId}, and its spec.target_cluster_ref is empty`,
    metadata: { machine_id: machine.machineId },
    violations: [
      { subject: `machines/${machine.machineId}`, description: 'spec.target_cluster_ref is empty' },
    ],
  });
}
