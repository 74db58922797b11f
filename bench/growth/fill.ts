/**
 * A fleet of any size in the database, in SQL: calls would take longer than what is measured. One machine is operated through
 * the API first; the operations and events of all others are copies of what it left, so that they look as the server writes them.
 */
import type pg from 'pg';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { sleep } from '../../src/time/sleep.ts';
import type { LoadClient } from '../client.ts';

export interface FleetSize {
  readonly machines: number;
  readonly operations: number;
  readonly events: number;
}

/** What is the same in a fleet of any size, so that a call that asks for it has the same answer. */
export const FLEET_SHAPE = { lastBatch: 'b0', pools: 10, customers: 50, sites: 20, rackUnits: 40 } as const;

const TEMPLATE = 'template-machine';
const BATCH = 50_000;
/** Everything that is not plainly READY is a multiple of this. */
const SPECIAL_EVERY = 10;
const LONGEST_WAIT_MS = 60_000;

export function machineIdOf(index: number): string {
  return `fleet-${String(index).padStart(7, '0')}`;
}

/** The machine of a turn: READY, and of no other turn. */
export function machineOfTurn(turn: number): number {
  const index = 200 + 3 * turn;
  return index % SPECIAL_EVERY === 0 ? index + 1 : index;
}

/** Of how many turns there are machines in such a fleet. */
export function turnsIn(machines: number): number {
  return Math.floor((machines - 202) / 3);
}

/** What `fillFleet` copies. */
export async function prepareFill(client: LoadClient): Promise<void> {
  const { method } = MachineService;
  const machine = { machineId: TEMPLATE, labels: { 'fake/step-ms': '0' } };
  await client.unary(method.registerMachine, { machine });
  for (const start of [
    () => client.unary(method.enterMaintenance, { machineId: TEMPLATE, requestId: 'enter' }),
    () => client.unary(method.exitMaintenance, { machineId: TEMPLATE, requestId: 'exit' }),
    () => client.unary(method.rebootMachine, { machineId: TEMPLATE, requestId: 'reboot' }),
  ]) {
    const { operationId } = await start();
    const startedAt = performance.now();
    for (;;) {
      const { finishedAt } = await client.unary(OperationService.method.getOperation, { operationId });
      if (finishedAt !== undefined) break;
      if (performance.now() - startedAt > LONGEST_WAIT_MS) throw new Error(`${operationId} does not end`);
      await sleep(5);
    }
  }
}

const MACHINES = `INSERT INTO machines (machine_id, labels, spec, phase, service, presence, pool, conditions, hardware)
  SELECT 'fleet-' || lpad(i::text, 7, '0'),
    jsonb_build_object('fake/step-ms', '0', 'env', CASE i % 3 WHEN 0 THEN 'prod' ELSE 'dev' END, 'batch', 'b' || i / 100),
    jsonb_build_object('ssh_endpoint', 'host-' || i, 'bmc_endpoint', '', 'target_cluster_ref', '', 'mac_addresses', '[]'::jsonb,
      'provider', 'fake', 'customer_id', 'customer-' || i % $3, 'serial', 'SN' || i, 'location',
      jsonb_build_object('site', 'site-' || i % $4, 'row', 'row-' || i % 200, 'rack', 'r' || i / $5)),
    CASE WHEN i % 100 = 10 THEN 'MAINTENANCE' ELSE 'READY' END, 'active',
    CASE WHEN i % 50 = 20 THEN 'expired' ELSE 'ready' END, 'pool-' || i % $6,
    CASE WHEN i % 50 = 0
      THEN '{"NeedsIntervention": {"status": true, "reason": "Measured", "message": "", "lastTransition": "2026-01-01T00:00:00Z"}}'
      ELSE '{}' END::jsonb,
    jsonb_strip_nulls(jsonb_build_object('vendor', 'Measured', 'model', 'model-' || i % 12, 'serial_number', 'SN' || i,
      'memory_gib', 128 * (1 + i % 4), 'gpu_model', CASE WHEN i % 3 = 0 THEN 'gpu-' || i % 2 END))
  FROM generate_series($1::int, $2::int) i`;

const AGENTS = `WITH filled AS (
    INSERT INTO agents (machine_id, token_hash, hostname, cpu_millicores, memory_bytes, gpu_count, private_ip, registered_at)
    SELECT machine_id, sha256(convert_to(machine_id, 'UTF8')), 'host', 8000, 17179869184, 1, '10.0.0.1', now()
    FROM machines WHERE machine_id BETWEEN 'fleet-' || lpad($1::text, 7, '0') AND 'fleet-' || lpad($2::text, 7, '0')
    RETURNING machine_id)
  SELECT count(*) FROM filled`;

/** None expires while it is measured. */
const PRESENCE = `INSERT INTO agent_presence (machine_id, pool, provider, status, check_at, expires_at, last_keepalive_at,
    cpu_utilization_pct, memory_utilization_pct, free_gpu_count)
  SELECT machine_id, pool, 'fake', presence, now() + interval '1 day', now() + interval '1 day', now(), 15.5, 42.3, 1
  FROM machines WHERE machine_id BETWEEN 'fleet-' || lpad($1::text, 7, '0') AND 'fleet-' || lpad($2::text, 7, '0')`;

/** The n-th operation is the (n / machines)-th of machine n % machines, and ids sort by the time of creation. */
const OPERATIONS = `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, plan_id,
    contract, params, steps, current, error, started_by, created_at, started_at, finished_at, epoch, due_at, clock_ms)
  SELECT left(t.operation_id, 3) || lpad(n::text, 26, '0'), 'fleet-' || lpad((n % $3)::text, 7, '0'), 'filled-' || n,
    t.request_fingerprint, CASE WHEN n < 5 THEN 'MIGRATE' WHEN n % 4 = 0 THEN 'REIMAGE' ELSE t.type END,
    CASE WHEN n < 5 OR n % 100 < 4 THEN 'failed_retryable' WHEN n % 100 = 4 THEN 'cancelled' ELSE t.status END, t.plan_id, t.contract,
    t.params, t.steps, t.current,
    CASE WHEN n < 5 OR n % 100 < 4 THEN jsonb_build_object('code', CASE WHEN n < 5 THEN 'FEW_HAVE_IT' ELSE 'TIMEOUT' END,
      'message', '', 'retryable', true, 'failureClass', 'retryable', 'step', 'reboot', 'attempts', 1) END,
    t.started_by, at, at, at, t.epoch, t.due_at, t.clock_ms
  FROM (SELECT * FROM operations WHERE machine_id = '${TEMPLATE}' ORDER BY operation_id DESC LIMIT 1) t,
    LATERAL (SELECT n, now() - interval '1 s' * ($4::int - n) / 10 AS at FROM generate_series($1::int, $2::int) n) filled`;

/** A few events are of someone who did little else, whatever the size. */
const EVENTS = `INSERT INTO events (at, kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata, machine_id,
    operation_id, snapshot)
  SELECT now() - interval '1 s' * ($4::int - n) / 100, t.kind, t.subject, t.from_state, t.to_state,
    CASE WHEN n < 5 OR n % 100 = 0 THEN 'operator' ELSE t.actor_kind END,
    CASE WHEN n < 5 THEN 'carol' WHEN n % 100 = 0 THEN 'alice' ELSE t.actor_id END, t.comment, t.metadata,
    'fleet-' || lpad((n % $3)::text, 7, '0'),
    CASE WHEN t.operation_id IS NOT NULL THEN left(t.operation_id, 3) || lpad((n % $5)::text, 26, '0') END, t.snapshot
  FROM generate_series($1::int, $2::int) n JOIN (
    SELECT row_number() OVER (ORDER BY event_id) - 1 AS place, count(*) OVER () AS places, * FROM events
    WHERE machine_id = '${TEMPLATE}') t ON t.place = n % t.places`;

/** The server should be stopped from here to the end: it makes what it keeps in memory when it starts. */
export async function fillFleet(sql: pg.Pool, size: FleetSize): Promise<void> {
  const { pools, customers, sites, rackUnits } = FLEET_SHAPE;
  await sql.query(
    `INSERT INTO pools (pool_name, created_by) SELECT 'pool-' || i, 'bench' FROM generate_series(0, $1::int - 1) i
     ON CONFLICT DO NOTHING`,
    [pools],
  );
  await inBatches(size.machines, (from, to) =>
    sql.query(MACHINES, [from, to, customers, sites, rackUnits, pools]),
  );
  await inBatches(size.machines, (from, to) => sql.query(AGENTS, [from, to]));
  await inBatches(size.machines, (from, to) => sql.query(PRESENCE, [from, to]));
  await inBatches(size.operations, (from, to) =>
    sql.query(OPERATIONS, [from, to, size.machines, size.operations]),
  );
  await inBatches(size.events, (from, to) =>
    sql.query(EVENTS, [from, to, size.machines, size.events, Math.max(1, size.operations)]),
  );
  await sql.query('VACUUM ANALYZE');
}

async function inBatches(count: number, fill: (from: number, to: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += BATCH) await fill(from, Math.min(from + BATCH, count) - 1);
}
