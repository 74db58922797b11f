/** The same tests on servers that keep keepalives in PostgreSQL and in Redis. */
import { afterAll, describe } from 'vitest';
import { needs } from '../parts/debian-packages.ts';
import { type Redis, startRedis } from '../parts/redis.ts';
import { startTestServer, type TestServer, type TestServerOptions } from '../parts/server.ts';

export interface Store {
  readonly name: 'PostgreSQL' | 'Redis';
  /** Stopped with its store after the tests. */
  startServer(options: TestServerOptions): Promise<TestServer>;
  /** None in PostgreSQL. */
  redisKeys(pattern: string): string[];
}

export function describeInBothStores(title: string, define: (store: Store) => void): void {
  describeIn('PostgreSQL', title, define);
  const redis = needs('redis');
  if (redis.isMissing) describe.skip(redis.title(`${title} in Redis`), () => define(inStore('Redis').store));
  else describeIn('Redis', title, define);
}

function describeIn(name: Store['name'], title: string, define: (store: Store) => void): void {
  describe(`${title} in ${name}`, () => {
    const { store, stop } = inStore(name);
    afterAll(stop);
    define(store);
  });
}

function inStore(name: Store['name']): { store: Store; stop: () => Promise<void> } {
  let redis: Redis | null = null;
  const servers: TestServer[] = [];
  const startServer = async (options: TestServerOptions) => {
    if (name === 'Redis') redis ??= await startRedis();
    const server = await startTestServer({ ...options, ...(redis && { presenceUrl: redis.url }) });
    servers.push(server);
    return server;
  };
  const stop = async () => {
    for (const server of servers) await server.stop();
    await redis?.stop();
  };
  const redisKeys = (pattern: string) => redis?.cli('keys', pattern) ?? [];
  return { store: { name, startServer, redisKeys }, stop };
}
