/** The agent and the server, which share only the protocol of docs/agents.md. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
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

  it('name an unknown pool', async () => {
    await start(await createMachine(server), 'nowhere').says(/registration failed .*Invalid pool name/);
  });

  it('end when the machine is removed: a distinct exit code, since a restart would not help', async () => {
    const machine = await createMachine(server);
    const { machineId } = machine;
    const agent = start(machine);
    await presence(machineId).toBe('ready');
    const ended = async ({ operationId }: { operationId: string }) =>
      expect
        .poll(async () => (await server.operations.getOperation({ operationId })).status, { timeout: 20_000 })
        .toBe('completed');
    await ended(await server.admin.drainMachine({ machineId, requestId: 'drain' }));
    expect((await statusOf(machineId))?.presence).toBe('ready');
    await ended(await server.admin.removeMachine({ machineId, requestId: 'remove' }));
    expect(await agent.ended).toEqual({ code: 77, signal: null });
    expect(agent.stderr()).toMatch(/giving up .*token was revoked/);
  });

  /** Whether the server takes the token, not counting what a replica remembers. */
  async function isTaken(token: string): Promise<boolean> {
    await server.sql(`SELECT pg_notify('ingot', 'tokens')`);
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${server.httpUrl}/api/v1/machine/config`, { headers })).status === 200;
  }

  /** A machine whose token is older than tokens.rotate_agents_after_seconds. */
  async function machineWithOldToken() {
    const machine = await createMachine(server);
    await server.sql(`UPDATE agents SET token_issued_at = now() - interval '31 days' WHERE machine_id = $1`, [
      machine.machineId,
    ]);
    return machine;
  }

  it('rotate a token that is old, in its file, without losing the machine', async () => {
    const machine = await machineWithOldToken();
    const folder = mkdtempSync(join(tmpdir(), 'ingot-token-'));
    const file = join(folder, 'token');
    writeFileSync(file, machine.token);
    const args = ['--server', server.httpUrl, '--machine-id', machine.machineId, '--pool', 'gpu'];
    const agent = bundle.start([...args, '--interval', '0.2', '--token-file', file]);
    await agent.says('token rotated');
    const next = readFileSync(file, 'utf8').trim();
    expect(next).not.toBe(machine.token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expect.poll(() => isTaken(machine.token), { timeout: 20_000 }).toBe(false);
    expect(await isTaken(next)).toBe(true);
    await presence(machine.machineId).toBe('ready');
    for (const log of [server.logged.join(''), agent.stderr(), agent.stdout()])
      expect(log).not.toContain(next);
    rmSync(folder, { recursive: true });
  });

  it('rotate a token that was passed to the service, and use the new one after a restart', {
    tags: ['extended'],
  }, async () => {
    const machine = await machineWithOldToken();
    const folder = mkdtempSync(join(tmpdir(), 'ingot-state-'));
    const args = ['--server', server.httpUrl, '--machine-id', machine.machineId, '--pool', 'gpu'];
    const environment = { INGOT_MACHINE_TOKEN: machine.token, STATE_DIRECTORY: folder };
    const agent = bundle.start([...args, '--interval', '0.2'], environment);
    await agent.says('token rotated');
    await expect.poll(() => isTaken(machine.token), { timeout: 20_000 }).toBe(false);
    agent.signal('SIGTERM');
    await agent.ended;
    const restarted = bundle.start([...args, '--interval', '0.2'], environment);
    await restarted.says('registered');
    // Another token of the operator's counts, whatever was rotated before.
    const { token } = await createMachine(server, 'gpu', machine.machineId);
    restarted.signal('SIGTERM');
    await restarted.ended;
    const replaced = bundle.start([...args, '--interval', '0.2'], {
      ...environment,
      INGOT_MACHINE_TOKEN: token,
    });
    await replaced.says('registered');
    rmSync(folder, { recursive: true });
  });

  it('keep the old token, and say so, where there is no place for another', {
    tags: ['extended'],
  }, async () => {
    const machine = await machineWithOldToken();
    const agent = start(machine);
    await agent.says(/token not rotated .*no state directory/);
    await presence(machine.machineId).toBe('ready');
    expect(await isTaken(machine.token)).toBe(true);
  });

  it('go on with a new token that is put into the file of the old one', { tags: ['extended'] }, async () => {
    const machine = await createMachine(server);
    const folder = mkdtempSync(join(tmpdir(), 'ingot-token-'));
    const file = join(folder, 'token');
    writeFileSync(file, machine.token);
    const args = ['--server', server.httpUrl, '--machine-id', machine.machineId, '--pool', 'gpu'];
    const agent = bundle.start([...args, '--interval', '0.3', '--token-file', file]);
    await presence(machine.machineId).toBe('ready');
    const { token } = await createMachine(server, 'gpu', machine.machineId);
    await agent.says('keepalive denied');
    writeFileSync(file, `${token}\n`);
    await agent.says(/token replaced.*registered.*ready/s);
    agent.signal('SIGTERM');
    expect((await agent.ended).code).toBe(0);
    for (const secret of [token, machine.token]) expect(agent.stderr()).not.toContain(secret);
    rmSync(folder, { recursive: true });
  });
});
