/**
 * What Ingot's keepalive endpoint is compared with: the same request and answer on fastify, written at once, one request
 * at a time. `redis`: the hashes and times to live of the layout in docs/agents.md. `postgres`: one upsert. Neither checks
 * the token, nor whether there is such a machine, so both do less than they would have to.
 */
import { createClient } from '@redis/client';
import fastify from 'fastify';
import pg from 'pg';

interface Body {
  readonly machine_id: string;
  readonly provider_name: string;
  readonly pool_name: string;
  readonly agent_version: string;
  readonly metrics: Readonly<Record<string, number>>;
}

type Store = (body: Body, at: number) => Promise<unknown>;

const TTL = 300;

async function redis(): Promise<Store> {
  const client = createClient({ socket: { path: process.env.BENCH_REDIS_SOCKET ?? '', tls: false } });
  await client.connect();
  return (body, at) => {
    const key = `provider:machine:${body.provider_name}:${body.pool_name}:${body.machine_id}`;
    // The client sends the commands of one turn together.
    return Promise.all([
      client.hSet(key, {
        machine_id: body.machine_id,
        status: 'ready',
        last_keepalive: at,
        agent_version: body.agent_version,
      }),
      client.hSet(`${key}:metrics`, body.metrics),
      client.expire(key, TTL),
      client.expire(`${key}:metrics`, TTL),
    ]);
  };
}

async function postgres(): Promise<Store> {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
  await pool.query(
    `CREATE TABLE IF NOT EXISTS single_presence (machine_id text COLLATE "C" PRIMARY KEY, pool text, provider text,
       status text, last_keepalive_at timestamptz, expires_at timestamptz, agent_version text, cpu float8, memory float8,
       total_cpu float8, total_memory float8, free_gpus float8) WITH (fillfactor = 50)`,
  );
  const text = `INSERT INTO single_presence
    VALUES ($1, $2, $3, 'ready', now(), now() + interval '300 s', $4, $5, $6, $7, $8, $9)
    ON CONFLICT (machine_id) DO UPDATE SET last_keepalive_at = excluded.last_keepalive_at,
      expires_at = excluded.expires_at, agent_version = excluded.agent_version, cpu = excluded.cpu,
      memory = excluded.memory, total_cpu = excluded.total_cpu, total_memory = excluded.total_memory,
      free_gpus = excluded.free_gpus`;
  return ({ machine_id, pool_name, provider_name, agent_version, metrics }) =>
    pool.query({
      name: 'single',
      text,
      values: [machine_id, pool_name, provider_name, agent_version, ...Object.values(metrics)],
    });
}

const STORES = { redis, postgres } as const;

const store = await STORES[process.argv[2] as keyof typeof STORES]();
const app = fastify({ logger: false });
app.post('/api/v1/machine/keepalive', async (request, reply) => {
  const body = request.body as Body;
  if (!body.machine_id || !body.pool_name) return reply.code(400).send({ message: 'incomplete' });
  const at = Math.floor(Date.now() / 1000);
  await store(body, at);
  return {
    status: 'ok',
    machine_state: {
      machine_id: body.machine_id,
      status: 'ready',
      last_keepalive: String(at),
      ttl_seconds: TTL,
      agent_version: body.agent_version,
    },
  };
});
await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;
process.stdout.write(`${JSON.stringify({ httpPort: port })}\n`);
process.once('SIGTERM', () => process.exit(0));
