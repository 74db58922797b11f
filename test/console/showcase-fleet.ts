/**
 * A fleet as an operator on call meets it: racks at two sites, machines that work, failed alike, lost their agent, or stand in
 * maintenance for too long, a rollout at its gate, plans, budgets, tokens. All times are whole minutes before one anchor.
 */
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import {
  Rollout_State,
  RolloutService,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { createMachine, keepalive, post, registration } from '../agents/calls.ts';
import { run, start, waitingAt } from '../api/fleet.ts';
import { call } from '../nodes/rest.ts';
import type { TestServer, TestServerOptions } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { type Ages, ageFleet } from './showcase-times.ts';

/**
 * What the server must have. Each provider has fewer operations than a history needs: nothing that runs is stalled, whenever the
 * server reads it.
 */
export const SHOWCASE_SERVER = {
  pools: ['gpu', 'web'],
  keepaliveTtlSeconds: 86_400,
  providers: { 'ams1-a': { kind: 'fake' }, 'ams1-b': { kind: 'fake' }, 'fra2-a': { kind: 'fake' } },
} as const satisfies TestServerOptions;

interface Rack {
  readonly site: string;
  readonly row: string;
  readonly rack: string;
  readonly use: 'web' | 'db' | 'gpu';
}

const RACKS: readonly Rack[] = [
  { site: 'ams1', row: 'a', rack: 'r11', use: 'web' },
  { site: 'ams1', row: 'a', rack: 'r12', use: 'web' },
  { site: 'ams1', row: 'b', rack: 'r21', use: 'db' },
  { site: 'ams1', row: 'b', rack: 'r22', use: 'gpu' },
  { site: 'fra2', row: 'a', rack: 'r01', use: 'web' },
  { site: 'fra2', row: 'a', rack: 'r02', use: 'db' },
];
const UNITS = 10;

export interface Showcase {
  /** A reimage that failed, one that runs, and one that succeeded. */
  readonly failed: string;
  readonly running: string;
  readonly succeeded: string;
  readonly machineFailed: string;
  readonly machineRunning: string;
  readonly machineLost: string;
  /** At its gate, and stopped by failures. */
  readonly gated: string;
  readonly stopped: string;
}

type Outcome = 'serves' | 'fails' | 'works' | 'in maintenance' | 'new' | 'broken';

/** By its place in the fleet. */
const OUTCOMES: ReadonlyMap<number, Outcome> = new Map([
  ...[3, 13, 14, 42].map((n): [number, Outcome] => [n, 'fails']),
  ...[5, 16, 44].map((n): [number, Outcome] => [n, 'works']),
  ...[8, 21, 27, 55].map((n): [number, Outcome] => [n, 'in maintenance']),
  ...[48, 49, 58, 59].map((n): [number, Outcome] => [n, 'new']),
  [25, 'broken'],
]);

const idOf = (n: number): string => {
  const { use, rack } = rackOf(n);
  return `${use}-${rack}-u${String((n % UNITS) * 3 + 2).padStart(2, '0')}`;
};

const rackOf = (n: number): Rack => RACKS[Math.floor(n / UNITS)] as Rack;

const providerOf = (n: number): string => `${rackOf(n).site}-${rackOf(n).row}`;

export async function fillShowcase(server: TestServer, ages: Ages = recently()): Promise<Showcase> {
  const all = Array.from({ length: RACKS.length * UNITS }, (_, n) => n);
  const operations = new Map<number, string>();
  for (const group of [all.slice(0, 30), all.slice(30)])
    await Promise.all(group.map(async (n) => operations.set(n, await fillMachine(server, n))));
  for (const n of [30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 0, 1, 2]) await fillAgent(server, n);
  await fillInventory(server);
  const { gated, stopped } = await fillRollouts(server);
  await ageFleet(server, ages);
  await loseAgents(server, [34, 36].map(idOf));
  const operationOf = (n: number) => operations.get(n) ?? '';
  return {
    failed: operationOf(13),
    running: operationOf(16),
    succeeded: operationOf(7),
    machineFailed: idOf(13),
    machineRunning: idOf(16),
    machineLost: idOf(34),
    gated,
    stopped,
  };
}

/** As of the minute in which the fill starts. */
function recently(): Ages {
  return { anchor: Math.floor(Date.now() / 60_000) * 60_000, running: 'aged' };
}

/** Returns its last reimage. */
async function fillMachine(server: TestServer, n: number): Promise<string> {
  const machineId = idOf(n);
  const { site, row, rack, use } = rackOf(n);
  const outcome = OUTCOMES.get(n) ?? 'serves';
  await server.machines.registerMachine({
    machine: {
      machineId,
      labels: {
        env: n % 5 === 0 ? 'lab' : 'prod',
        team: { web: 'frontend', db: 'storage', gpu: 'training' }[use],
        'fake/step-ms': '1',
        ...(outcome === 'fails' && { 'fake/fail-step': 'repave' }),
        ...(outcome === 'works' && { 'fake/hang-step': 'repave' }),
      },
      spec: {
        provider: providerOf(n),
        sshEndpoint: `10.20.${Math.floor(n / UNITS)}.${n + 10}:22`,
        bmcEndpoint: `10.21.${Math.floor(n / UNITS)}.${n + 10}`,
        targetClusterRef: 'prod-east',
        customerId: use === 'gpu' ? 'acme' : '',
        serial: `CZ29${String(4100 + n * 7)}`,
        macAddresses: [`52:54:00:aa:00:${n.toString(16).padStart(2, '0')}`],
        location: { site, row, rack, unit: `U${(n % UNITS) * 3 + 2}` },
      },
    },
  });
  if (outcome === 'new') return '';
  if (outcome === 'broken') {
    const reason = 'DIMM B2 fails its test; vendor case 4711';
    await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason });
    return '';
  }
  await run(server, 'ENTER_MAINTENANCE', machineId);
  const request = { imageRef: 'ubuntu-24.04' };
  if (outcome === 'works') {
    const operation = await start(server, 'REIMAGE', machineId, request);
    await waitingAt(server, operation, 'repave');
    return operation.operationId;
  }
  const { operationId } = await run(server, 'REIMAGE', machineId, request);
  if (outcome === 'serves') await run(server, 'EXIT_MAINTENANCE', machineId);
  return operationId;
}

async function fillAgent(server: TestServer, n: number): Promise<void> {
  const machineId = idOf(n);
  const pool = rackOf(n).use === 'gpu' ? 'gpu' : 'web';
  const agent = await createMachine(server, pool, machineId);
  const gpus = pool === 'gpu' ? '4' : '0';
  await post(
    server,
    'register',
    agent.token,
    registration(agent, {
      hostname: machineId,
      provider_name: providerOf(n),
      pool_name: pool,
      gpu_count: gpus,
      private_ip: `10.20.3.${n + 10}`,
    }),
  );
  const metrics = {
    total_cpu_available: 64_000,
    total_memory_available: 524_288,
    cpu_utilization_pct: 12 + (n % 10) * 8,
    memory_utilization_pct: 30 + (n % 10) * 5,
    free_gpu_count: pool === 'gpu' ? n % 4 : 0,
    container_count: 4 + (n % 10),
  };
  const life = { metrics, pool_name: pool, provider_name: providerOf(n), agent_version: '0.1.0' };
  await post(server, 'keepalive', agent.token, keepalive(agent, life));
}

/** Their keepalives are ten minutes late. */
async function loseAgents(server: TestServer, ids: readonly string[]): Promise<void> {
  await server.sql(
    `UPDATE agent_presence SET last_keepalive_at = now() - interval '10 minutes', check_at = now(),
       expires_at = now() - interval '5 minutes' WHERE machine_id = ANY($1)`,
    [ids],
  );
  await until(
    () => server.sql(`SELECT FROM machines WHERE presence = 'expired'`),
    (lost) => lost.length === ids.length,
  );
}

async function fillInventory(server: TestServer): Promise<void> {
  await server.sql(
    `INSERT INTO images (image_name, sha256, size_bytes, created_by)
     VALUES ('ubuntu-24.04', repeat('4f', 32), 2415919104, 'admin:maria'), ('debian-13', repeat('a1', 32), 1610612736, 'admin:maria')`,
  );
  for (const [name, image] of [
    ['install-ubuntu', 'ubuntu-24.04'],
    ['install-debian', 'debian-13'],
  ])
    await call(server, 'POST', '/workflows', { name, image: { name: image } });
  for (let n = 0; n < 5; n += 1)
    await call(server, 'POST', '/nodes', {
      mac_address: `52:54:00:bb:00:0${n}`,
      serial_number: `CZ30${5100 + n}`,
      ...(n < 3 && { hostname: `new-r23-u0${n + 1}` }),
    });
  await server.admin.createPlan({
    plan: {
      planId: 'firmware-update',
      displayName: 'Update firmware and reboot',
      steps: [
        { name: 'reboot', timeoutSeconds: 300, maxRetries: 2, kind: { case: 'reboot', value: {} } },
        { name: 'verify', timeoutSeconds: 300, maxRetries: 0, kind: { case: 'verify', value: {} } },
      ],
    },
  });
  const year = BigInt(Math.floor(Date.now() / 1000) + 90 * 86_400);
  for (const [name, role, scope] of [
    ['ci-provisioner', 'operator', 'labels.env=lab'],
    ['grafana', 'viewer', ''],
    ['acme-portal', 'viewer', 'customer_id=acme'],
    ['maria', 'admin', ''],
  ] as const)
    await server.admin.createToken({ name, role, scope, expiresAt: { seconds: year, nanos: 0 } });
  const rollouts = server.client(RolloutService, server.adminToken);
  for (const [name, filter, maxUnavailable] of [
    ['web-capacity', 'labels.team=frontend', '20%'],
    ['storage-quorum', 'labels.team=storage', '1'],
  ] as const)
    await rollouts.createBudget({ budget: { name, filter, groupBy: 'location.rack', maxUnavailable } });
}

async function fillRollouts(server: TestServer): Promise<{ gated: string; stopped: string }> {
  const rollouts = server.client(RolloutService, server.adminToken);
  const gated = await rollouts.createRollout({
    requestId: 'gated',
    spec: {
      name: 'kernel 6.12 on web',
      filter: 'labels.team=frontend AND location.site=fra2 AND phase=READY',
      waves: ['1', '50%', 'rest'],
      gates: ['', 'approval'],
      gate: 'approval',
      steps: [{ step: { case: 'reboot', value: {} } }],
      reason: 'CVE-2026-1811',
    },
  });
  const stopped = await rollouts.createRollout({
    requestId: 'stopped',
    spec: {
      name: 'reimage lab to 24.04',
      machineIds: [3, 13, 14, 42].map(idOf),
      waves: ['1', 'rest'],
      stop: { afterFailures: 1 },
      steps: [{ step: { case: 'reimage', value: { imageRef: 'ubuntu-24.04' } } }],
      reason: 'golden image of November',
    },
  });
  await until(
    async () => (await rollouts.getRollout({ rolloutId: gated.rolloutId })).waves,
    (waves) => waves.some(({ state }) => state === Wave_State.WAITING_FOR_APPROVAL),
  );
  await until(
    async () => (await rollouts.getRollout({ rolloutId: stopped.rolloutId })).state,
    (state) => state === Rollout_State.STOPPED,
  );
  return { gated: gated.rolloutId, stopped: stopped.rolloutId };
}
