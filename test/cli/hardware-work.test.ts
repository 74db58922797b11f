/** `ingot erase` and `ingot migrate`: what they ask for, and what they send. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Overwrite_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { Operation_Phase } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { useFakeServer } from './harness.ts';
import { begin, end, inMaintenance } from './play.ts';

const cli = useFakeServer();
const sent = (method: string) =>
  cli.fleet.calls.filter((call) => call.method === method).map(({ request }) => request);

beforeEach(() => {
  for (const n of [1, 2]) cli.fleet.addMachine(inMaintenance(`machine-${n}`, []));
  cli.fleet.onStart = ({ operationId }) =>
    setTimeout(() => {
      begin(cli.fleet, operationId);
      end(cli.fleet, operationId, Operation_Phase.SUCCEEDED, 5);
    }, 20);
});

describe('ingot erase', () => {
  const QUESTION = 'Type machine-1 to erase it: ';

  it.each([
    ['machine-1', 0, 1],
    ['machine-2', 2, 0],
    ['y', 2, 0],
  ])('asks for the name of the machine: %s', async (typed, code, calls) => {
    // Not waited for, so it would end in the fleet of the next test.
    cli.fleet.onStart = () => {};
    const run = await cli.run('erase machine-1 --no-wait', { isTerminal: true, answer: `${typed}\n` });
    expect(run.stderr).toContain(QUESTION);
    expect(run.code).toBe(code);
    expect(sent('eraseMachine')).toHaveLength(calls);
  });

  it('does nothing without a terminal to ask on, unless --yes is given', async () => {
    const refused = await cli.run('erase machine-1');
    expect(refused.stderr).toContain('add --yes');
    expect(sent('eraseMachine')).toHaveLength(0);
    expect((await cli.run('erase machine-1 --yes --full-overwrite')).code).toBe(0);
    expect(sent('eraseMachine')[0]).toMatchObject({
      machineId: 'machine-1',
      overwrite: Overwrite_Value.WHOLE,
    });
  });

  it('says in its help what it does to which disk', async () => {
    const { stdout } = await cli.run('erase --help');
    for (const words of ['nvme-sanitize', 'overwrite-partial', '--full-overwrite', 'deprovisioning'])
      expect(stdout).toContain(words);
  });
});

describe('ingot migrate', () => {
  it('sends what the replacement goes by, and what it must report', async () => {
    const line =
      'migrate machine-1 --mac 52:54:00:00:00:02 --mac 52:54:00:00:00:03 --serial S1 --image ubuntu';
    expect((await cli.run(line)).code).toBe(0);
    expect(sent('migrateMachine')[0]).toMatchObject({
      machineId: 'machine-1',
      macAddresses: ['52:54:00:00:00:02', '52:54:00:00:00:03'],
      serialNumber: 'S1',
      imageRef: 'ubuntu',
    });
  });

  it('is for one machine, and needs an address', async () => {
    expect((await cli.run('migrate machine-1 machine-2 --mac 52:54:00:00:00:02')).code).not.toBe(0);
    expect((await cli.run('migrate machine-1')).stderr).toContain('--mac');
    expect(sent('migrateMachine')).toHaveLength(0);
  });
});
