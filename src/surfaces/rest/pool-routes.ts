/** What pools have to offer, for whoever may look at machines. */
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
import { answerFaults, callerWith, type RestDependencies } from './rest-errors.ts';

export interface PoolRouteDependencies extends RestDependencies {
  readonly database: Database;
  readonly keepalives: KeepaliveStore;
}

export async function poolRoutes(app: FastifyInstance, parts: PoolRouteDependencies): Promise<void> {
  const { database, keepalives } = parts;
  answerFaults(app, parts);

  app.get('/api/v1/pool/list', async (request) => {
    await callerWith(parts, request, 'viewer');
    return (await readPoolHealth(database, keepalives)).map(poolBody);
  });

  app.get<{ Params: { name: string } }>('/api/v1/pool/show/:name', async (request) => {
    await callerWith(parts, request, 'viewer');
    const { name } = request.params;
    const pool = await readPool(database, keepalives, name);
    if (!pool) throw poolNotFound(name);
    return poolBody(pool);
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
