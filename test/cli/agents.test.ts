import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { AgentSchema, MachineStatusSchema } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { at, START, WireFault } from './fake-server.ts';
import { useFakeServer } from './harness.ts';
import { inMaintenance } from './play.ts';

const cli = useFakeServer();
const now = () => START + 45_000;

function addAgent(machineId: string, presence: string): void {
  const machine = inMaintenance(machineId, []);
  cli.fleet.addMachine({
    ...machine,
    status: create(MachineStatusSchema, {
      ...machine.status,
      service: 'active',
      presence,
      pool: 'gpu',
      agent: create(AgentSchema, {
        hostname: 'gpu-worker-1',
        cpuMillicores: 8000n,
        memoryBytes: 17_179_869_184n,
        gpuCount: 1,
        privateIp: '192.168.1.100',
        registeredAt: at(0),
        agentVersion: '0.1.0-python',
        lastKeepalive: at(15),
        metrics: { cpu_utilization_pct: 15.5, total_disk_free_bytes: 3 * 2 ** 30 },
      }),
    }),
  });
}

describe('machine create', () => {
  it('prints the token and the machine id, and what to do with them', async () => {
    const run = await cli.run('machine create --pool gpu');
    expect(run).toMatchObject({ code: 0, stdout: 'Token: ingot_machine_secret\nMachine ID: 1165a9b6\n' });
    expect(run.stderr).toContain('the token is not shown again');
    expect(run.stderr).toContain('agent --server <url> --machine-id 1165a9b6 --pool gpu');
    expect(run.stderr).not.toContain('ingot_machine_secret');
    expect(cli.fleet.calls.at(-1)?.request).toMatchObject({ pool: 'gpu', provider: '', machineId: '' });
  });

  it('takes a provider and a machine that exists, and speaks JSON', async () => {
    const run = await cli.run('machine create --pool gpu --provider dc --machine-id node-7 -o json');
    expect(JSON.parse(run.stdout)).toMatchObject({
      machine: { machine_id: 'node-7', spec: { provider: 'dc' } },
      token: 'ingot_machine_secret',
    });
    expect(run.stderr).toBe('');
  });

  it('needs a pool, and a pool that is not there is told with what to do', async () => {
    expect(await cli.run('machine create')).toMatchObject({ code: 64 });
    cli.fleet.onCall = () => {
      throw new WireFault(status.FAILED_PRECONDITION, 'no pool', { reason: 'POOL_NOT_FOUND' });
    };
    const run = await cli.run('machine create --pool cpu');
    expect(run.stderr).toContain('ingot pool create <name>');
  });
});

describe('machine list and show', () => {
  it('tell of agents where there are some, and have no columns for them where there are none', async () => {
    cli.fleet.addMachine(inMaintenance('machine-1', []));
    expect((await cli.run('machine list', { now })).stdout).not.toContain('KEEPALIVE');
    addAgent('1165a9b6', 'ready');
    const { stdout } = await cli.run('machine list', { now });
    expect(stdout.split('\n')[0]).toMatch(/POOL +STATUS +AGENT +KEEPALIVE/);
    expect(stdout).toMatch(/1165a9b6 .* gpu +ready +0\.1\.0-python +30s/);
  });

  it('show tells facts and metrics', async () => {
    addAgent('1165a9b6', 'ready');
    const { stdout } = await cli.run('machine show 1165a9b6', { now });
    for (const text of [
      /Presence: +ready/,
      /Service: +active/,
      /Pool: +gpu/,
      /Hostname: +gpu-worker-1/,
      /CPU: +8 cores/,
      /Memory: +16 GiB/,
      /Agent version: +0\.1\.0-python/,
      /Last keepalive: +30s ago/,
      /cpu_utilization_pct +15\.5%/,
      /total_disk_free_bytes +3 GiB/,
    ]) {
      expect(stdout).toMatch(text);
    }
  });
});

describe('pool', () => {
  it('list shows health, machines by presence and sums', async () => {
    cli.fleet.pools = [
      {
        name: 'gpu',
        healthy: true,
        machines: { ready: 2, pending: 1 },
        metrics: { total_cpu_available: 16_000, total_memory_available: 32_768, cpu_utilization_pct: 50 },
      },
      { name: 'idle', healthy: false },
    ];
    const { stdout } = await cli.run('pool list');
    expect(stdout).toMatch(/gpu +healthy +2 +0 +1 +0 +16 cores +50% +32 GiB/);
    expect(stdout).toMatch(/idle +degraded +0 +0 +0 +0 +- /);
  });

  it('create says so; an empty list says what to do', async () => {
    expect((await cli.run('pool create gpu')).stdout).toBe('created pool gpu\n');
    expect((await cli.run('pool list')).stderr).toContain('ingot pool create <name>');
  });
});
