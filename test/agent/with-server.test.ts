/** The agent and the server, which know nothing of each other but document 5. */
import { cpus, hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMachine, type Enrolled } from '../agents/calls.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { type RunningAgent, useAgentBundle } from './agent-process.ts';

const bundle = useAgentBundle();
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ pools: ['gpu'], keepaliveTtlSeconds: 2 });
});
afterAll(() => server?.stop());

const start = ({ machineId, token }: Enrolled, pool = 'gpu'): RunningAgent =>
  bundle.start(['--server', server.httpUrl, '--machine-id', machineId, '--pool', pool, '--interval', '0.2'], {
    INGOT_MACHINE_TOKEN: token,
  });

const statusOf = async (machineId: string) => (await server.machines.getMachine({ machineId })).status;
const presence = (machineId: string) =>
  expect.poll(async () => (await statusOf(machineId))?.presence, { timeout: 20_000 });

describe('an agent and a server', () => {
  it('make a machine ready, with its figures; notice its silence; and make it ready again', async () => {
    const machine = await createMachine(server);
    const agent = start(machine);
    await presence(machine.machineId).toBe('ready');
    const status = await statusOf(machine.machineId);
    expect(status).toMatchObject({
      agent: {
        hostname: hostname(),
        cpuMillicores: BigInt(cpus().length * 1000),
        metrics: { total_cpu_available: cpus().length * 1000 },
      },
    });

    agent.signal('SIGSTOP');
    await presence(machine.machineId).toBe('expired');
    agent.signal('SIGCONT');
    await agent.says(/re-registering .*Machine state expired/);
    await presence(machine.machineId).toBe('ready');

    agent.signal('SIGTERM');
    expect((await agent.ended).code).toBe(0);
    expect(server.logged.join('')).not.toContain(machine.token);
  });

  it('part when the token is of another machine, and say why', async () => {
    const [machine, other] = [await createMachine(server), await createMachine(server)];
    const agent = start({ ...machine, token: other.token });
    await agent.says(/registration denied .*answered 403: Invalid token/);
    expect((await statusOf(machine.machineId))?.presence).toBe('pending');
  });

  it('say what is wrong with a pool that nobody knows', async () => {
    await start(await createMachine(server), 'nowhere').says(/registration failed .*Invalid pool name/);
  });
});
