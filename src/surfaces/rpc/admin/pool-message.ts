import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { PoolSchema } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { PoolCapacity, PoolHealth } from '../../../store/agents/pool-health.ts';

export function poolMessage(pool: PoolHealth): MessageInitShape<typeof PoolSchema> {
  return {
    name: pool.name,
    healthy: pool.healthy,
    machines: { ...pool.counts },
    metrics: { ...pool.metrics },
    schedulable: pool.schedulable,
    total: pool.total,
    unschedulable: { ...pool.unschedulable },
    capacity: capacityMessage(pool.capacity),
    totalCapacity: capacityMessage(pool.totalCapacity),
    gpus: pool.gpus.map((gpus) => ({ ...gpus })),
    createdBy: pool.createdBy,
    createdAt: timestampFromDate(pool.createdAt),
  };
}

function capacityMessage({ cpuMillicores, memoryBytes, gpuCount }: PoolCapacity) {
  return { cpuMillicores: BigInt(cpuMillicores), memoryBytes: BigInt(memoryBytes), gpuCount };
}
