/** A sample fleet with machines in every state, for screenshots and for the pages that summarize the fleet. */
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { createMachine, keepalive, post, registration } from '../agents/calls.ts';
import { run, start } from '../api/fleet.ts';
import type { TestServer } from '../parts/server.ts';

const RACKS = 6;
const MACHINES = 30;
const AGENTS = 8;

/** The server must have a pool `gpu`. */
export async function fillFleet(server: TestServer): Promise<void> {
  await Promise.all(Array.from({ length: MACHINES }, (_, n) => fillMachine(server, n)));
  for (let n = 0; n < AGENTS; n += 1) await fillAgent(server, n);
  await server.sql(
    `UPDATE machines SET effective_since = now() - interval '9 days'
     WHERE phase = 'MAINTENANCE' AND labels @> '{"rack": "r3"}'`,
  );
}

async function fillAgent(server: TestServer, n: number): Promise<void> {
  const machineId = `gpu-worker-${n + 1}`;
  await server.machines.registerMachine({ machine: { machineId, spec: { provider: 'generic' } } });
  const agent = await createMachine(server, 'gpu', machineId);
  await post(server, 'register', agent.token, registration(agent, { hostname: machineId }));
  const metrics = {
    total_cpu_available: 8000,
    total_memory_available: 16_384,
    cpu_utilization_pct: 12 + n * 9,
    memory_utilization_pct: 30 + n * 5,
    free_gpu_count: n % 3,
    container_count: 4 + n,
  };
  await post(server, 'keepalive', agent.token, keepalive(agent, { metrics, agent_version: '0.1.0' }));
}

async function fillMachine(server: TestServer, n: number): Promise<void> {
  const machineId = `dc1-r${(n % RACKS) + 1}-u${String(n).padStart(2, '0')}`;
  const outcome = outcomeOf(n);
  await server.machines.registerMachine({
    machine: {
      machineId,
      labels: {
        rack: `r${(n % RACKS) + 1}`,
        env: n % 5 === 0 ? 'lab' : 'prod',
        'fake/step-ms': '1',
        ...(outcome === 'fails' && { 'fake/fail-step': 'repave' }),
        ...(outcome === 'works' && { 'fake/hang-step': 'repave' }),
      },
      spec: { sshEndpoint: `10.20.${n % RACKS}.${n + 10}:22`, targetClusterRef: 'prod-east' },
    },
  });
  if (outcome === 'is new') return;
  if (outcome === 'is broken') {
    const reason = 'DIMM B2 fails its test; vendor case 4711';
    await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason });
    return;
  }
  await run(server, 'ENTER_MAINTENANCE', machineId);
  if (outcome === 'works') {
    await start(server, 'REIMAGE', machineId, { imageRef: 'ubuntu-2204' });
    return;
  }
  await run(server, 'REIMAGE', machineId, { imageRef: 'ubuntu-2204' });
  if (outcome === 'serves') await run(server, 'EXIT_MAINTENANCE', machineId);
}

function outcomeOf(n: number): 'is new' | 'is broken' | 'fails' | 'works' | 'is in maintenance' | 'serves' {
  if (n >= 27) return 'is new';
  if (n === 25) return 'is broken';
  if (n % 17 === 3) return 'fails';
  if (n % 11 === 4) return 'works';
  return n % 7 === 2 ? 'is in maintenance' : 'serves';
}
