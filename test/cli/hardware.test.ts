/** `ingot inspect` and `ingot hardware`: what they send, and what they print. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Operation_Phase } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { useFakeServer } from './harness.ts';
import { begin, end, inMaintenance } from './play.ts';

const cli = useFakeServer();
const origin = { source: 'bmc' };

beforeEach(() => {
  cli.fleet.addMachine(inMaintenance('machine-1', []));
  cli.fleet.hardware = {
    machineId: 'machine-1',
    system: {
      origin,
      vendor: 'Dell Inc.',
      model: 'PowerEdge R750',
      serialNumber: 'ABC',
      biosVersion: '1.8.2',
    },
    processors: [{ origin, slot: 'CPU.1', model: 'Xeon', cores: 18, threads: 36, health: 'OK' }],
    memoryBytes: 34_359_738_368n,
    memoryModules: [
      { origin, slot: 'A1', sizeBytes: 34_359_738_368n, serialNumber: 'S1', health: 'Critical' },
    ],
    drives: [{ origin, slot: 'Bay.0', name: 'nvme0n1', serialNumber: 'N\u001b[31m1', lifeLeftPercent: 97 }],
    sources: [{ source: 'bmc', version: 3 }],
  };
});

it('ingot inspect starts an operation and waits for it, without a question', async () => {
  cli.fleet.onStart = ({ operationId }) =>
    setTimeout(() => {
      begin(cli.fleet, operationId);
      end(cli.fleet, operationId, Operation_Phase.SUCCEEDED, 5);
    }, 20);
  const run = await cli.run('inspect machine-1');
  expect(run.code).toBe(0);
  const inBand = await cli.run('inspect machine-1 --in-band');
  expect(inBand.code).toBe(0);
  const calls = cli.fleet.calls.filter(({ method }) => method === 'inspectMachine');
  expect(calls.map(({ request }) => (request as { inBand: boolean }).inBand)).toEqual([false, true]);
});

describe('ingot hardware', () => {
  it('shows each part in a line, and health only where it is not OK', async () => {
    const { stdout } = await cli.run('hardware show machine-1');
    expect(stdout).toContain('System:       Dell Inc., PowerEdge R750, serial ABC');
    expect(stdout).toContain('Processor:    CPU.1, Xeon, 18 cores, 36 threads\n');
    expect(stdout).toMatch(/Module: {7}A1, .*serial S1, HEALTH Critical/);
    expect(stdout).toContain('97 % of its life left');
    // What a BMC says does not move the cursor.
    expect(stdout).not.toContain('\u001b');
  });

  it('says what to do where nothing is known', async () => {
    cli.fleet.hardware = { machineId: 'machine-1' };
    const { stdout, stderr } = await cli.run('hardware show machine-1');
    expect(stdout).toBe('');
    expect(stderr).toContain('inspect machine-1');
  });

  it('lists changes, and prints a difference line by line', async () => {
    const changes = ['memory module A3 is missing', 'disk Bay.1: serial_number was A, is B'];
    cli.fleet.hardwareChanges = [
      { machineId: 'machine-1', source: 'bmc', version: 2, changes },
      { machineId: 'machine-1', source: 'bmc', version: 1 },
    ];
    cli.fleet.hardwareDiff = { machineId: 'machine-1', source: 'bmc', fromVersion: 1, toVersion: 2, changes };
    const list = await cli.run('hardware changes machine-1');
    expect(list.stdout).toContain(changes.join('; '));
    expect(list.stdout).toContain('first report');
    expect((await cli.run('hardware diff machine-1 --from 1')).stdout).toBe(`${changes.join('\n')}\n`);
    const json = await cli.run('hardware changes -o jsonl');
    expect(
      json.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).version),
    ).toEqual([2, 1]);
  });
});
