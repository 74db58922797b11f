import { create } from '@bufbuild/protobuf';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { EffectiveState_Value } from '../../src/gen/baremetal/v2/machine_pb.ts';
import {
  Operation_Phase,
  OperationType,
  StepStatus_State,
  StepStatusSchema,
} from '../../src/gen/baremetal/v2/operation_pb.ts';
import { at, START } from './fake-server.ts';
import { useFakeServer } from './harness.ts';
import { begin, end, inMaintenance, startStep } from './play.ts';

const cli = useFakeServer();
const now = () => START + 3 * 60 * 60 * 1000;

const MACHINE = {
  ...inMaintenance('machine-1', ['Reachable', 'Provisioned']),
  labels: { rack: 'r42', env: 'prod' },
  spec: {
    sshEndpoint: '10.20.30.40:22',
    provider: 'fake',
    macAddresses: ['aa:bb:cc:dd:ee:ff'],
    customerId: 'acme',
    serial: 'SN-1',
    location: { site: 'fra1', rack: 'r11' },
  },
  createdAt: at(0),
};

beforeEach(() => {
  cli.fleet.addMachine(MACHINE);
  cli.fleet.addMachine(inMaintenance('machine-2', []));
});

const condition = (type: string, status: boolean, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransition: at(60),
});

describe('list', () => {
  it('gives JSON as one array with the names of the protos', async () => {
    const { stdout, stderr } = await cli.run('list -o json');
    expect(JSON.parse(stdout)[0]).toMatchObject({
      machine_id: 'machine-1',
      labels: { rack: 'r42' },
      spec: { ssh_endpoint: '10.20.30.40:22', mac_addresses: ['aa:bb:cc:dd:ee:ff'] },
      status: { phase: 'MAINTENANCE', effective_state: 'MAINTENANCE', active_operation_id: '' },
      created_at: '2026-01-30T10:00:00Z',
    });
    expect(stderr).toBe('');
  });

  it('gives the same as JSON lines and YAML', async () => {
    const machines = JSON.parse((await cli.run('list -o json')).stdout);
    const lines = (await cli.run('list -o jsonl')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(machines);
    expect(parse((await cli.run('list --output=yaml')).stdout)).toEqual(machines);
  });

  it('gives names alone', async () => {
    expect((await cli.run('list -o name')).stdout).toBe('machine-1\nmachine-2\n');
  });

  it('has more columns with -o wide', async () => {
    expect((await cli.run('machine list -o wide', { now })).stdout).toBe(`\
MACHINE_ID   PHASE        EFFECTIVE  REACHABLE  PROVISIONED  ACTIVE_OP  PROVIDER  CUSTOMER  LOCATION    SERIAL  SSH_ENDPOINT    AGE  LABELS             CONDITIONS
machine-1    MAINTENANCE  MAINT      ✓          ✓            -          fake      acme      fra1 / r11  SN-1    10.20.30.40:22  3h   env=prod,rack=r42  -
machine-2    MAINTENANCE  MAINT      -          -            -          -         -         -           -       -               -    -                  -
`);
  });

  it('of nothing is an empty stdout and a hint, or an empty array', async () => {
    cli.fleet.machines.clear();
    const empty = await cli.run('list');
    expect(empty).toEqual({
      code: 0,
      stdout: '',
      stderr: 'no machines yet; register some: ingot import 3\n',
    });
    expect((await cli.run('list -o json')).stdout).toBe('[]\n');
    expect((await cli.run('list -o jsonl')).stdout).toBe('');
  });

  it('walks all pages, and stops at the limit', async () => {
    for (let n = 3; n <= 25; n++) cli.fleet.addMachine(inMaintenance(`machine-${n}`, []));
    cli.fleet.pageSize = 10;
    expect((await cli.run('list -o name')).stdout.split('\n')).toHaveLength(26);
    expect((await cli.run('list -o name --all')).stdout.split('\n')).toHaveLength(26);
    cli.fleet.calls.length = 0;
    expect((await cli.run('list -o name --limit 12')).stdout.split('\n')).toHaveLength(13);
    expect(cli.fleet.calls.map(({ request }) => request.pageSize)).toEqual([12, 2]);
    const table = (await cli.run('list')).stdout;
    expect(table.match(/MACHINE_ID/g)).toHaveLength(1);
  });

  it('joins --filter and every -l', async () => {
    await cli.run(
      'list --filter "phase=READY OR phase=MAINTENANCE" -l rack=r42 -l fake/step-ms=5 -l "a.b=say \\"',
    );
    expect(cli.fleet.calls[0]?.request).toMatchObject({
      filter:
        '(phase=READY OR phase=MAINTENANCE) AND (labels.rack=r42) AND (labels.fake/step-ms=5) AND (labels."a.b"="say \\\\")',
      pageSize: 1000,
    });
  });

  it('spells control characters out', async () => {
    cli.fleet.addMachine({ machineId: 'evil', labels: { 'k\u001b[31m': 'a\nb\u009bc\u202e' } });
    const wide = await cli.run('list -o wide');
    expect(wide.stdout).toContain('k\\x1b[31m=a\\x0ab\\x9bc\\u202e');
    for (const form of ['json', 'jsonl', 'yaml', 'table', 'wide']) {
      const { stdout } = await cli.run(`list -o ${form}`);
      expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    }
    const yaml = parse((await cli.run('list -o yaml')).stdout);
    expect(yaml[2].labels).toEqual({ 'k\u001b[31m': 'a\nb\u009bc\u202e' });
    expect(JSON.parse((await cli.run('list -o json')).stdout)[2].labels).toEqual(yaml[2].labels);
  });
});

describe('colour', () => {
  it('shows the effective state on a terminal', async () => {
    const { stdout } = await cli.run('list', { isTerminal: true });
    expect(stdout).toContain('\u001b[33mMAINT    \u001b[0m');
  });

  it.each([
    ['NO_COLOR is set', { isTerminal: true, env: { NO_COLOR: '1' } }],
    ['the terminal is dumb', { isTerminal: true, env: { TERM: 'dumb' } }],
    ['it is no terminal', {}],
  ])('is absent when %s', async (_why, around) => {
    expect((await cli.run('list', around)).stdout).not.toContain('\u001b');
  });
});

describe('show', () => {
  it('shows a machine in full, with the states of both APIs', async () => {
    cli.fleet.addMachine({
      ...MACHINE,
      status: {
        phase: 2,
        effectiveState: EffectiveState_Value.ATTENTION,
        conditions: [
          condition('NeedsIntervention', true, 'RebootFailed', 'REBOOT op-2 failed at reboot'),
          condition('InCustomerCluster', true, 'NodeReady', 'Ready in cluster-a'),
          condition('Reachable', false, 'NoAnswer', ''),
        ],
      },
    });
    cli.fleet.nextOperationIds = ['op-1', 'op-2'];
    cli.fleet.start(OperationType.REIMAGE, { machineId: 'machine-1', requestId: 'r1' });
    begin(cli.fleet, 'op-1');
    startStep(cli.fleet, 'op-1', 1);
    cli.fleet.start(OperationType.JOIN, { machineId: 'machine-1', requestId: 'r2' });
    const retried = { name: 'join', state: StepStatus_State.FAILED, retryCount: 2 };
    cli.fleet.change('op-2', { steps: [create(StepStatusSchema, retried)] });
    begin(cli.fleet, 'op-2');
    end(cli.fleet, 'op-2', Operation_Phase.FAILED, 72);
    cli.fleet.start(OperationType.REBOOT, { machineId: 'machine-2', requestId: 'r3' });
    const { stdout } = await cli.run('machine show machine-1', { now });
    expect(stdout).toBe(`\
Machine:            machine-1
State:              ATTENTION · reboot failed (also: unreachable)
                    v2         v1
Phase:              READY      IN_SERVICE
EffectiveState:     ATTENTION  IN_SERVICE
Banners:            -          NeedsIntervention
Active:             -          -
Provider:           fake
Customer:           acme
Location:           fra1 / r11
Serial number:      SN-1
SSH endpoint:       10.20.30.40:22
SSH credentials:    -
BMC endpoint:       -
BMC certificate:    -
BMC credentials:    -
Target cluster:     -
MAC addresses:      aa:bb:cc:dd:ee:ff
Labels:             env=prod,rack=r42
Registered:         2026-01-30T10:00:00Z
Updated:            -

CONDITION          STATUS  REASON        SINCE  MESSAGE
Reachable          ✗       NoAnswer      2h     -
InCustomerCluster  ✓       NodeReady     2h     Ready in cluster-a
NeedsIntervention  ✓       RebootFailed  2h     REBOOT op-2 failed at reboot

Last operations:
OPERATION_ID  TYPE     PHASE    AGE  DURATION  STEPS                     ERROR
op-1          REIMAGE  RUNNING  3h   3h 0m     ✓netboot →reboot ·repave  -
op-2          JOIN     FAILED   3h   1m 12s    ✗join(2)                  SSH connection refused [EXECUTION_FAILED]
`);
    for (const line of ['show', 'get', 'machine'])
      expect((await cli.run(`${line} machine-1`, { now })).stdout).toBe(stdout);
    cli.fleet.pageSize = 1;
    const short = (await cli.run('show machine-1', { now })).stdout;
    expect(short).toContain('Last operations (all: ingot ops -m machine-1):\n');
    expect(short).not.toContain('op-2   ');
  });

  it('gives the machine alone as data', async () => {
    expect(JSON.parse((await cli.run('show machine-1 -o json')).stdout)).toMatchObject({
      machine_id: 'machine-1',
      status: { phase: 'MAINTENANCE' },
    });
    expect((await cli.run('show machine-1 -o name')).stdout).toBe('machine-1\n');
    expect(cli.fleet.calls.map(({ method }) => method)).toEqual(['getMachine', 'getMachine']);
    expect(await cli.run('show machin-1')).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('ops', () => {
  beforeEach(() => {
    cli.fleet.start(OperationType.REIMAGE, { machineId: 'machine-1', requestId: 'r1' });
    begin(cli.fleet, 'op-machine-1');
    startStep(cli.fleet, 'op-machine-1', 1);
    cli.fleet.start(OperationType.REBOOT, { machineId: 'machine-2', requestId: 'r2' });
    begin(cli.fleet, 'op-machine-2');
    end(cli.fleet, 'op-machine-2', Operation_Phase.FAILED, 72);
  });

  it('lists operations', async () => {
    const { stdout } = await cli.run('ops', { now });
    expect(stdout).toBe(`\
OPERATION_ID  MACHINE_ID  TYPE     PHASE    STEP        AGE  DURATION  ERROR
op-machine-1  machine-1   REIMAGE  RUNNING  reboot 2/3  3h   3h 0m     -
op-machine-2  machine-2   REBOOT   FAILED   -           3h   1m 12s    SSH connection refused [EXECUTION_FAILED]
`);
    expect((await cli.run('op list', { now })).stdout).toBe(stdout);
    expect((await cli.run('ops -o name')).stdout).toBe('op-machine-1\nop-machine-2\n');
  });

  it('asks for those of one machine', async () => {
    await cli.run('ops -m machine-1 --filter phase=FAILED');
    expect(cli.fleet.calls.at(-1)?.request.filter).toBe('(phase=FAILED) AND (machine_id=machine-1)');
  });

  it('shows one with its steps', async () => {
    const { stdout } = await cli.run('op op-machine-1', { now });
    expect(stdout).toContain('Request id:   r1\n');
    expect(stdout).toMatch(/^netboot {2}netboot {2}SUCCEEDED {2}100% {6}0\/0 {6}30s/m);
    expect((await cli.run('op show op-machine-1', { now })).stdout).toBe(stdout);
    expect(JSON.parse((await cli.run('op op-machine-1 -o json')).stdout).steps).toHaveLength(3);
  });
});

describe('writing', () => {
  it('registers', async () => {
    const options =
      '--ssh-endpoint 10.0.0.1:22 --bmc-endpoint 10.0.0.2 --mac aa:aa --mac bb:bb --cluster c --provider fake ' +
      '--customer-id acme --serial SN-1 --site fra1 --row 3 --rack r11 --unit U14';
    expect(await cli.run(`register m-1 ${options} -l a=1 -l b=x=y -o name`)).toMatchObject({
      code: 0,
      stdout: 'm-1\n',
    });
    expect(cli.fleet.calls[0]?.request.machine).toMatchObject({
      machineId: 'm-1',
      labels: { a: '1', b: 'x=y' },
      spec: {
        sshEndpoint: '10.0.0.1:22',
        bmcEndpoint: '10.0.0.2',
        macAddresses: ['aa:aa', 'bb:bb'],
        targetClusterRef: 'c',
        provider: 'fake',
        customerId: 'acme',
        serial: 'SN-1',
        location: { site: 'fra1', row: '3', rack: 'r11', unit: 'U14' },
      },
    });
    expect((await cli.run('register -o name')).stdout).toBe('m-made-up\n');
  });

  it('updates what was named and nothing else', async () => {
    await cli.run('update machine-1 --label a=1 --unlabel b --ssh-endpoint h:22 --cluster ""');
    expect(cli.fleet.calls[0]?.request).toMatchObject({
      machine: {
        machineId: 'machine-1',
        labels: { a: '1' },
        spec: { sshEndpoint: 'h:22', targetClusterRef: '' },
      },
      updateMask: { paths: ['labels.a', 'labels.b', 'spec.ssh_endpoint', 'spec.target_cluster_ref'] },
    });
  });

  it('updates a part of the location', async () => {
    await cli.run('update machine-1 --rack r12 --unit ""');
    expect(cli.fleet.calls[0]?.request).toMatchObject({
      machine: { spec: { location: { rack: 'r12', unit: '' } } },
      updateMask: { paths: ['spec.location.rack', 'spec.location.unit'] },
    });
  });

  it('imports what is missing and leaves alone what exists', async () => {
    const { stdout, stderr } = await cli.run('import 3 -l env=demo --customer-id acme --rack r1 -o name');
    expect(stdout).toBe('machine-1\nmachine-2\nmachine-3\n');
    expect(stderr).toBe('registered 1 machines; 2 existed and were not changed\n');
    const registered = cli.fleet.calls.filter(({ method }) => method === 'registerMachine');
    expect(registered.map(({ request }) => request.machine)).toMatchObject([
      { machineId: 'machine-3', spec: { customerId: 'acme', location: { rack: 'r1' } } },
    ]);
  });

  it('flags, unflags and clears', async () => {
    expect(await cli.run('flag machine-1 rma --reason "bad disk"')).toMatchObject({ code: 0 });
    expect(await cli.run('machine unflag machine-1 retired --reason ok -o name')).toMatchObject({
      stdout: 'machine-1\n',
    });
    expect(await cli.run('clear machine-1 --reason "inspected it"')).toMatchObject({ code: 0 });
    expect(cli.fleet.calls.map(({ method, request }) => [method, request.flag, request.reason])).toEqual([
      ['flagMachine', 1, 'bad disk'],
      ['unflagMachine', 2, 'ok'],
      ['clearNeedsIntervention', undefined, 'inspected it'],
    ]);
  });

  it('makes, lists and revokes tokens', async () => {
    const made = await cli.run('token create ci --role operator --expires 30d', { now: () => START });
    expect(made.stdout).toBe('ingot_secret\n');
    expect(made.stderr).toBe(
      'token ci (operator), valid until 2026-03-01T10:00:00Z; it is not shown again\n',
    );
    expect(JSON.parse((await cli.run('token create ci --role VIEWER -o json')).stdout)).toEqual({
      token: { name: 'ci', role: 'viewer', scope: '', created_by: '', last_used_from: '' },
      secret: 'ingot_secret',
    });
    expect((await cli.run('token list')).stdout).toContain(
      'ci    operator  -      2026-01-30T10:00:00Z  -           never',
    );
    await cli.run('token create acme-ci --role on-call --scope customer_id=acme');
    expect(cli.fleet.calls.at(-1)?.request).toMatchObject({ role: 'on-call', scope: 'customer_id=acme' });
    expect((await cli.run('token revoke ci')).stdout).toBe('revoked ci\n');
  });
});
