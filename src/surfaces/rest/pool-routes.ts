/** Pools with the capacity that their machines have. */
import type { FastifyInstance } from 'fastify';
import type { KeepaliveStore } from '../../store/agents/keepalive-store.ts';
import {
  type PoolCapacity,
  type PoolHealth,
  readPool,
  readPoolHealth,
} from '../../store/agents/pool-health.ts';
import { poolNotFound } from '../../store/agents/pools.ts';
import type { Database } from '../../store/database/database.ts';
import { POOL_ROUTES } from './api/agent-api.ts';
import { answerFaults, type RestDependencies } from './rest-errors.ts';
import { serveRoutes } from './serve-routes.ts';

export interface PoolRouteDependencies extends RestDependencies {
  readonly database: Database;
  readonly keepalives: KeepaliveStore;
}

export async function poolRoutes(app: FastifyInstance, dependencies: PoolRouteDependencies): Promise<void> {
  const { database, keepalives } = dependencies;
  answerFaults(app, dependencies);
  serveRoutes(app, POOL_ROUTES, dependencies, {
    list: async ({ caller: { scope } }) =>
      (await readPoolHealth(database, { keepalives, scope })).map(poolBody),
    show: async ({ params: { name }, caller: { scope } }) => {
      const pool = await readPool(database, { keepalives, scope }, name);
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
