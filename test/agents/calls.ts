/** The requests of an agent, as docs/agents.md prints them. */
import type { TestServer } from '../parts/server.ts';

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & { machine_state?: Record<string, unknown> };
  readonly headers: Headers;
}

export interface Enrolled {
  readonly machineId: string;
  readonly token: string;
}

export async function createMachine(server: TestServer, pool = 'gpu', machineId = ''): Promise<Enrolled> {
  const { machine, token } = await server.admin.createMachine({ pool, machineId });
  return { machineId: machine?.machineId ?? '', token };
}

export async function post(
  server: TestServer,
  call: 'register' | 'keepalive',
  token: string | null,
  body: unknown,
): Promise<Answer> {
  const response = await fetch(`${server.httpUrl}/api/v1/machine/${call}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return answerOf(response);
}

export async function get(server: TestServer, path: string, token: string | null): Promise<Answer> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return answerOf(await fetch(`${server.httpUrl}/api/v1/machine/${path}`, { headers }));
}

async function answerOf(response: Response): Promise<Answer> {
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer['body'],
  };
}

export function registration({ machineId, token }: Enrolled, changes: Record<string, unknown> = {}) {
  return {
    token,
    machine_id: machineId,
    hostname: 'gpu-worker-1',
    provider_name: 'generic',
    pool_name: 'gpu',
    cpu: '8000m',
    memory: '16Gi',
    gpu_count: '1',
    private_ip: '192.168.1.100',
    ...changes,
  };
}

export function keepalive({ machineId }: Enrolled, changes: Record<string, unknown> = {}) {
  return {
    machine_id: machineId,
    provider_name: 'generic',
    pool_name: 'gpu',
    agent_version: '0.1.0-python',
    metrics: {
      cpu_utilization_pct: 15.5,
      memory_utilization_pct: 42.3,
      total_cpu_available: 8000,
      total_memory_available: 16384,
      free_gpu_count: 1,
    },
    ...changes,
  };
}

/** All the way to ready. */
export async function enrol(server: TestServer, pool = 'gpu'): Promise<Enrolled> {
  const machine = await createMachine(server, pool);
  await post(server, 'register', machine.token, registration(machine, { pool_name: pool }));
  await post(server, 'keepalive', machine.token, keepalive(machine, { pool_name: pool }));
  return machine;
}
