/** Pools with the capacity that their machines have. */
import type { FastifyInstance } from 'fastify';
import type { PoolCapacity, PoolHealth } from '../../store/agents/pool-health.ts';
import type { PoolReader } from '../../store/agents/pool-reader.ts';
import { poolNotFound } from '../../store/agents/pools.ts';
import { POOL_ROUTES } from './api/agent-api.ts';
import { answerFaults, type RestDependencies } from './rest-errors.ts';
import { serveRoutes } from './serve-routes.ts';

export interface PoolRouteDependencies extends RestDependencies {
  readonly pools: PoolReader;
}

export async function poolRoutes(app: FastifyInstance, dependencies: PoolRouteDependencies): Promise<void> {
  const { pools } = dependencies;
  answerFaults(app, dependencies);
  serveRoutes(app, POOL_ROUTES, dependencies, {
    list: async ({ caller: { scope } }) => (await pools.list(scope)).map(poolBody),
    show: async ({ params: { name }, caller: { scope } }) => {
      const pool = await pools.find(name, scope);
      if (!pool) throw poolNotFound(name);
      return poolBody(pool);
    },
  });
}

function poolBody(pool: PoolHealth) {
  return {
    pool_name: pool.name,
    healthy: pool.healthy,
    schedulable: pool.schedulable,
    total: pool.total,
    unschedulable: pool.unschedulable,
    machines: pool.counts,
    capacity: capacityBody(pool.capacity),
    total_capacity: capacityBody(pool.totalCapacity),
    gpus: pool.gpus,
    metrics: pool.metrics,
    created_by: pool.createdBy,
    created_at: pool.createdAt.toISOString(),
  };
}

function capacityBody({ cpuMillicores, memoryBytes, gpuCount }: PoolCapacity) {
  return { cpu_millicores: cpuMillicores, memory_bytes: memoryBytes, gpu_count: gpuCount };
}
