/** Both stores of keepalives, and what only Redis can do wrong. */
import { afterAll, beforeAll, describe } from 'vitest';
import { createPostgresKeepalives } from '../../src/store/agents/postgres-keepalives.ts';
import { createRedisKeepalives } from '../../src/store/agents/redis-keepalives.ts';
import { needs } from '../parts/debian-packages.ts';
import { type Redis, startRedis } from '../parts/redis.ts';
import { keepaliveStoreContract } from './keepalive-store-contract.ts';

describe('in PostgreSQL', () => {
  keepaliveStoreContract({
    elsewhere: false,
    open: async (database, ttls) => createPostgresKeepalives(database, ttls),
  });
});

const redisProgram = needs('redis');

describe.skipIf(redisProgram.isMissing)(redisProgram.title('in Redis'), () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  keepaliveStoreContract({
    elsewhere: true,
    open: (_database, ttls, providers) =>
      createRedisKeepalives({
        url: redis.url,
        ttls,
        providers: () => providers,
        now: Date.now,
        monotonicNow: () => performance.now(),
        onAway: () => {},
        onBack: () => {},
      }),
  });
});
