/**
 * A fleet in the database, in SQL: a million calls would take longer than what they are for. The server is stopped meanwhile,
 * so that whatever it keeps in memory or in tables of its own is made of the new machines when it starts.
 */
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { sleep } from '../../src/time/sleep.ts';
import { LoadClient } from '../client.ts';
import type { Subject } from '../rig/subject.ts';

const filled = new WeakMap<Subject, number>();
const BATCH = 50_000;
const LONGEST_WAIT_MS = 600_000;

export async function growFleet(subject: Subject, size: number): Promise<void> {
  const from = filled.get(subject) ?? 0;
  if (from >= size) return;
  const { server, sql } = subject;
  subject.client.close();
  await server.stop();
  for (let start = from; start < size; start += BATCH)
    await sql.query(INSERT, [start, Math.min(start + BATCH, size) - 1]);
  await sql.query('VACUUM ANALYZE machines');
  await sql.query('CHECKPOINT');
  filled.set(subject, size);
  await server.start();
  subject.client = new LoadClient(server.grpcAddress, server.token);
  await untilCounted(subject);
}

const INSERT = `INSERT INTO machines (machine_id, labels, spec, phase, conditions)
  SELECT 'fleet-' || lpad(i::text, 7, '0'), jsonb_build_object('rack', 'r' || i % 500, 'env', 'prod'),
    jsonb_build_object('ssh_endpoint', 'host-' || i, 'bmc_endpoint', '', 'target_cluster_ref', '',
      'mac_addresses', '[]'::jsonb, 'provider', 'fake'),
    CASE WHEN i % 10 = 0 THEN 'MAINTENANCE' ELSE 'READY' END,
    CASE WHEN i % 1000 = 0
      THEN '{"NeedsIntervention": {"status": true, "reason": "x", "message": "", "lastTransition": "2026-01-01T00:00:00Z"}}'
      ELSE '{}' END::jsonb
  FROM generate_series($1::int, $2::int) i`;

/** What the server counts is what there is: a figure for a wrong answer is worth nothing. */
async function untilCounted({ client, sql }: Subject): Promise<void> {
  const { rows } = await sql.query<{ count: number }>('SELECT count(*)::int AS count FROM machines');
  const expected = rows[0]?.count ?? 0;
  const startedAt = performance.now();
  for (let counted = -1; counted !== expected; await sleep(100)) {
    ({ machines: counted } = await client.unary(FleetService.method.getOverview, {}));
    if (counted !== expected && performance.now() - startedAt > LONGEST_WAIT_MS)
      throw new Error(`the overview counts ${counted} machines, and there are ${expected}`);
  }
}
