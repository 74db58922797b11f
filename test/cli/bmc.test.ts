/** `ingot power`, `locate`, `boot-override` and `bmc`: what they send, and what they print. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Operation_Phase } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { useFakeServer } from './harness.ts';
import { begin, end, inMaintenance } from './play.ts';

const cli = useFakeServer();
const SHA = 'ab'.repeat(32);

beforeEach(() => {
  cli.fleet.addMachine(inMaintenance('machine-1', []));
  cli.fleet.onStart = ({ operationId }) =>
    setTimeout(() => {
      begin(cli.fleet, operationId);
      end(cli.fleet, operationId, Operation_Phase.SUCCEEDED, 5);
    }, 20);
});

const sent = (method: string) =>
  cli.fleet.calls.filter((call) => call.method === method).map(({ request }) => request as object);

describe('ingot power', () => {
  it('shows what the BMC says', async () => {
    const { stdout } = await cli.run('power machine-1');
    expect(stdout).toBe('Power:     on\nDraws:     412 W\nCap:       450 W (from 200 W up to 1400 W)\n');
    expect(JSON.parse((await cli.run('power machine-1 -o json')).stdout)).toMatchObject({ cap_watts: 450 });
  });

  it.each(['on', 'off', 'shutdown', 'restart', 'reset', 'cycle', 'nmi', 'push-button'])(
    '%s starts an operation and waits for it',
    async (action) => {
      const run = await cli.run(`power ${action} machine-1 --reason swap`);
      expect(run.code, run.stderr).toBe(0);
      expect(sent('changePower')).toMatchObject([{ machineId: 'machine-1', action, reason: 'swap' }]);
    },
  );

  it('cap takes watts or off, and nothing else', async () => {
    expect((await cli.run('power cap machine-1 450W')).code).toBe(0);
    expect((await cli.run('power cap machine-1 off')).code).toBe(0);
    expect(sent('setPowerCap').map((request) => (request as { watts?: number }).watts)).toEqual([
      450,
      undefined,
    ]);
    const wrong = await cli.run('power cap machine-1 much');
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain('450W, or off');
  });
});

it('ingot locate says until when, and switches off', async () => {
  const on = await cli.run('locate machine-1 --for 30m');
  expect(on.stdout).toMatch(/^machine-1: the indicator is on until \d{4}-/);
  expect((await cli.run('locate machine-1 --off')).stdout).toBe('machine-1: the indicator is off\n');
  expect(sent('locateMachine')).toMatchObject([{ duration: '30m', off: false }, { off: true }]);
  expect((await cli.run('locate machine-1 --off --for 5m')).code).not.toBe(0);
});

it('ingot boot-override shows and sets what is booted from', async () => {
  const { stdout } = await cli.run('boot-override machine-1');
  expect(stdout).toContain('Boots:    from cd (UsbCd), the next boot only');
  const set = await cli.run(
    'boot-override set machine-1 uefi-target --path PciRoot(0) --continuous --mode uefi',
  );
  expect(set.code, set.stderr).toBe(0);
  expect(sent('setBootOverride')).toMatchObject([
    { source: 'uefi-target', path: 'PciRoot(0)', continuous: true, mode: 'UEFI' },
  ]);
  expect((await cli.run('boot-override set machine-1 uefi-target')).stderr).toContain(
    '--path must be a UEFI',
  );
});

describe('ingot bmc trust', () => {
  it('shows the certificate, and pins it when it was said to be right', async () => {
    const asked = await cli.run('bmc trust machine-1');
    expect(asked.code).not.toBe(0);
    expect(asked.stderr).toContain('no terminal to ask on');
    expect(sent('trustBmcCertificate')).toEqual([]);
    const trusted = await cli.run('bmc trust machine-1 --yes');
    expect(trusted.stderr).toContain('SHA-256:     AB:AB:AB');
    expect(trusted.stdout).toBe(`machine-1: pinned ${SHA}\n`);
  });

  it('compares a fingerprint, and refuses another one', async () => {
    const right = await cli.run(`bmc trust machine-1 --fingerprint ${SHA.toUpperCase()}`);
    expect(right.code, right.stderr).toBe(0);
    const wrong = await cli.run(`bmc trust machine-1 --fingerprint ${'cd'.repeat(32)}`);
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain('shows another certificate');
    expect(sent('trustBmcCertificate')).toHaveLength(1);
  });

  it('says that another one was pinned before', async () => {
    cli.fleet.pinnedSha256 = 'cd'.repeat(32);
    expect((await cli.run('bmc trust machine-1')).stderr).toContain('ANOTHER ONE: cdcd');
  });
});

it.each([
  ['bmc rotate-password machine-1', 'rotateBmcPassword'],
  ['bmc reset machine-1', 'resetBmc'],
  ['bmc clear-log machine-1 --yes', 'clearBmcLog'],
])('ingot %s starts an operation', async (line, method) => {
  expect((await cli.run(line)).code).toBe(0);
  expect(sent(method)).toMatchObject([{ machineId: 'machine-1' }]);
});

it('ingot bmc clear-log asks for the name first', async () => {
  expect((await cli.run('bmc clear-log machine-1')).code).not.toBe(0);
  expect(sent('clearBmcLog')).toEqual([]);
});
