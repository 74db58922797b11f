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
      unschedulableReason: 'maintenance',
      unschedulableMessage: 'it is in maintenance',
      presence,
      pool: 'gpu',
      agent: create(AgentSchema, {
        hostname: 'gpu-worker-1',
        cpuMillicores: 8000n,
        memoryBytes: 17_179_869_184n,
        gpuCount: 8,
        gpus: [{ model: 'NVIDIA H100 80GB HBM3', count: 8 }],
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

  it('takes a provider and an existing machine, and prints JSON', async () => {
    const run = await cli.run('machine create --pool gpu --provider dc --machine-id node-7 -o json');
    expect(JSON.parse(run.stdout)).toMatchObject({
      machine: { machine_id: 'node-7', spec: { provider: 'dc' } },
      token: 'ingot_machine_secret',
    });
    expect(run.stderr).toBe('');
  });

  it('needs a pool, and names the fix for an unknown pool', async () => {
    expect(await cli.run('machine create')).toMatchObject({ code: 64 });
    cli.fleet.onCall = () => {
      throw new WireFault(status.FAILED_PRECONDITION, 'no pool', { reason: 'POOL_NOT_FOUND' });
    };
    const run = await cli.run('machine create --pool cpu');
    expect(run.stderr).toContain('ingot pool create <name>');
  });
});

describe('machine list and show', () => {
  it('have columns for agents only if there are agents', async () => {
    cli.fleet.addMachine(inMaintenance('machine-1', []));
    expect((await cli.run('machine list', { now })).stdout).not.toContain('KEEPALIVE');
    addAgent('1165a9b6', 'ready');
    const { stdout } = await cli.run('machine list', { now });
    expect(stdout.split('\n')[0]).toMatch(/POOL +STATUS +AGENT +KEEPALIVE +SCHEDULABLE/);
    expect(stdout).toMatch(/1165a9b6 .* gpu +ready +0\.1\.0-python +30s +no: maintenance/);
  });

  it('show prints the agent data and metrics', async () => {
    addAgent('1165a9b6', 'ready');
    const { stdout } = await cli.run('machine show 1165a9b6', { now });
    for (const text of [
      /Presence: +ready/,
      /Service: +active/,
      /Pool: +gpu/,
      /Schedulable: +no, because it is in maintenance/,
      /GPUs: +8 \(8 × NVIDIA H100 80GB HBM3\)/,
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

const GPU_POOL = {
  name: 'gpu',
  healthy: true,
  machines: { ready: 2, pending: 1 },
  schedulable: 1,
  total: 3,
  unschedulable: { draining: 1, bootstrap_issued: 1 },
  capacity: { cpuMillicores: 16_000n, memoryBytes: 34_359_738_368n, gpuCount: 8 },
  totalCapacity: { cpuMillicores: 32_000n, memoryBytes: 68_719_476_736n, gpuCount: 16 },
  gpus: [{ model: 'NVIDIA H100 80GB HBM3', schedulable: 8, total: 16 }],
  metrics: { total_cpu_available: 16_000, total_memory_available: 32_768, cpu_utilization_pct: 50 },
};

describe('pool', () => {
  it('list shows health, machines by presence and sums', async () => {
    cli.fleet.pools = [GPU_POOL, { name: 'idle', healthy: false }];
    const { stdout } = await cli.run('pool list');
    expect(stdout).toMatch(
      /gpu +healthy +1\/3 +2 +0 +1 +0 +16 cores +50% +32 GiB .* 8 × NVIDIA H100 80GB HBM3/,
    );
    expect(stdout).toMatch(/idle +degraded +0\/0 +0 +0 +0 +0 +- /);
  });

  it('show says what one pool can take, and why the rest can’t take work', async () => {
    cli.fleet.pools = [GPU_POOL];
    const { stdout } = await cli.run('pool show gpu');
    for (const text of [
      /Schedulable: +1 of 3 machines/,
      /CPU: +16 cores of 32 cores/,
      /Memory: +32 GiB of 64 GiB/,
      /GPUs: +8 of 16/,
      /draining +1 +it is being drained/,
      /NVIDIA H100 80GB HBM3 +8 +16/,
      /pending +1/,
      /cpu_utilization_pct +50%/,
    ]) {
      expect(stdout).toMatch(text);
    }
    const json = JSON.parse((await cli.run('pool show gpu -o json')).stdout) as Record<string, unknown>;
    expect(json).toMatchObject({ schedulable: 1, total: 3, gpus: [{ schedulable: 8, total: 16 }] });
    expect(await cli.run('pool show nowhere')).toMatchObject({ code: 1 });
  });

  it('create says so; an empty list says what to do', async () => {
    expect((await cli.run('pool create gpu')).stdout).toBe('created pool gpu\n');
    expect((await cli.run('pool list')).stderr).toContain('ingot pool create <name>');
  });
});
