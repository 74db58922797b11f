/** The registration example of docs/agents.md, typed into a real server: create, register, first keepalive, list. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fresh } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { launch } from './harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ pools: ['gpu'] });
});
afterAll(() => server?.stop());

const run = (line: string) =>
  launch(server.grpcAddress, line, {
    requestId: fresh('request'),
    env: { INGOT_TOKEN: server.adminToken },
  }).ended;

async function post(path: string, token: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${server.httpUrl}/api/v1/machine/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
}

it('a machine is created, registers itself, and is listed as ready after its first keepalive', async () => {
  const created = await run('machine create --pool gpu');
  expect(created).toMatchObject({ code: 0 });
  const [, token = '', machineId = ''] =
    /^Token: (\S+)\nMachine ID: ([0-9a-f]{8})\n$/.exec(created.stdout) ?? [];
  expect([token, machineId]).not.toContain('');

  const registered = await post('register', token, {
    token,
    machine_id: machineId,
    hostname: 'my-gpu-worker',
    provider_name: 'generic',
    pool_name: 'gpu',
    cpu: '8000m',
    memory: '16Gi',
    gpu_count: '1',
    private_ip: '192.168.1.100',
  });
  expect(registered).toMatchObject({
    config: null,
    machine_state: { machine_id: machineId, status: 'registered' },
  });
  expect((await run('machine list')).stdout).toMatch(new RegExp(`${machineId}.* gpu +registered `));

  const kept = await post('keepalive', token, {
    machine_id: machineId,
    pool_name: 'gpu',
    agent_version: '0.1.0',
  });
  expect(kept).toMatchObject({ status: 'ok', machine_state: { status: 'ready' } });

  const { stdout } = await run('machine list');
  expect(stdout.split('\n')[0]).toMatch(/^MACHINE_ID .* POOL +STATUS +AGENT/);
  expect(stdout).toMatch(new RegExp(`^${machineId} .* gpu +ready +0\\.1\\.0 `, 'm'));
});
