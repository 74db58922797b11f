/** The agents of the bench: who they are, what they send, and how they get into the database. */
import pg from 'pg';

export const FLEET = Number(process.env.BENCH_FLEET ?? 100_000);
const POOL = 'gpu';
export const INTERVAL_MS = 60_000;
/** Writing down what a hundred thousand agents will say takes a process a moment. */
export const PREPARE_MS = Math.max(5_000, FLEET / 20);

export function machineIdOf(agent: number): string {
  return agent.toString(16).padStart(8, '0');
}

/** As long as a real one. */
function tokenOf(agent: number): string {
  return `ingot_${machineIdOf(agent).repeat(5)}abc`;
}

/** The keepalive of docs/agents.md, byte for byte as it goes over the wire. */
export function requestOf(agent: number): Buffer {
  const body = JSON.stringify({
    machine_id: machineIdOf(agent),
    provider_name: 'generic',
    pool_name: POOL,
    agent_version: '0.1.0-python',
    metrics: {
      cpu_utilization_pct: 15.5,
      memory_utilization_pct: 42.3,
      total_cpu_available: 8000,
      total_memory_available: 16384,
      free_gpu_count: 1,
    },
  });
  return Buffer.from(
    `POST /api/v1/machine/keepalive HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${tokenOf(agent)}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    'latin1',
  );
}

/** All ready, as if each had reported at some time in the last interval. */
export async function fillFleet(url: string, count = FLEET): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const ids = `SELECT lpad(to_hex(n), 8, '0') AS id FROM generate_series(0, ${count - 1}) n`;
  await client.query(
    `INSERT INTO machines (machine_id, labels, spec, phase, presence, pool)
     SELECT id, '{}', '{"ssh_endpoint": "", "bmc_endpoint": "", "target_cluster_ref": "", "mac_addresses": [],
       "provider": "generic"}', 'READY', 'ready', '${POOL}' FROM (${ids}) fleet`,
  );
  await client.query(
    `INSERT INTO agents (machine_id, token_hash, hostname, cpu_millicores, memory_bytes, gpu_count, private_ip,
       registered_at)
     SELECT id, sha256(convert_to('ingot_' || repeat(id, 5) || 'abc', 'UTF8')), 'host-' || id, 8000, 17179869184, 1,
       '10.0.0.1', now() FROM (${ids}) fleet`,
  );
  await client.query(
    `INSERT INTO agent_presence (machine_id, pool, provider, status, check_at, expires_at, last_keepalive_at)
     SELECT id, '${POOL}', 'generic', 'ready', reported_at + interval '300 s', reported_at + interval '300 s', reported_at
     FROM (SELECT id, now() - random() * interval '60 s' AS reported_at FROM (${ids}) fleet) f`,
  );
  await client.query('VACUUM (ANALYZE) machines, agents, agent_presence');
  await client.query('CHECKPOINT');
  await client.end();
}
