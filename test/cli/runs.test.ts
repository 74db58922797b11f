import { beforeEach, describe, expect, it } from 'vitest';
import { clockText } from '../../src/cli/output/time-text.ts';
import { Operation_Phase, OperationType } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { OperationEvent_Kind } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { until } from '../parts/until.ts';
import { at, START, startFakeServer } from './fake-server.ts';
import { launch, useFakeServer } from './harness.ts';
import { begin, end, endStep, inMaintenance, logStep, playReimage, startStep } from './play.ts';

const cli = useFakeServer();
const now = () => START + 3 * 60 * 60 * 1000;
const calls = (method: string) => cli.fleet.calls.filter((call) => call.method === method);
const isWatched = () => calls('v1.watchRuns').length > 0;
const started = () => calls('v1.startRun').map(({ request }) => request);

beforeEach(() => {
  for (const n of [1, 2]) cli.fleet.addMachine(inMaintenance(`machine-${n}`, ['Provisioned']));
  cli.fleet.nextOperationIds = ['run-1'];
});

const TRANSCRIPT = `\
┌─────────────────────────────────────────────────────────────
│ Run: run-1
│ Machine: machine-1
│ Type: REPAVE
│ Phase: PROVISIONING → EffectiveState: PROVISIONING
└─────────────────────────────────────────────────────────────

→ netboot...
│ [netboot] Configuring PXE for ubuntu-2204
│ [netboot] DHCP updated
✓ netboot

→ reboot...
│ [reboot] Sending IPMI reset command
│ [reboot] Waiting for machine to come back
✓ reboot

→ repave...
│ [repave] Writing image ubuntu-2204
│ [repave] Progress: 45%
│ [repave] Progress: 90%
│ [repave] Image written successfully
✓ repave

┌─────────────────────────────────────────────────────────────
│ ✓ SUCCEEDED
│ Duration: 4m 32s
└─────────────────────────────────────────────────────────────

Machine state after run:
┌─────────────────────────────────────────────────────────────
│ Phase: MAINTENANCE (unchanged)
│ EffectiveState: MAINTENANCE (was PROVISIONING)
│ Conditions: Provisioned=✓, InCustomerCluster=✓ (newly set)
│ ActiveRunId: (cleared)
└─────────────────────────────────────────────────────────────
`;

describe('run start', () => {
  it('is shown like an operation, in the words of v1 (docs/api-v1.md)', async () => {
    cli.fleet.onStart = ({ operationId }) =>
      cli.fleet.addMachine(inMaintenance('machine-1', ['Provisioned'], operationId));
    const running = cli.launch('run start machine-1 --type REPAVE --plan plan-7');
    await until(isWatched);
    playReimage(cli.fleet, 'run-1');
    expect(await running.ended).toEqual({ code: 0, stdout: TRANSCRIPT, stderr: 'request-id: made-up-id\n' });
    expect(started()).toMatchObject([
      { machineId: 'machine-1', requestId: 'made-up-id', type: 'REPAVE', planId: 'plan-7' },
    ]);
    expect(calls('v1.watchRuns')[0]?.request.filter).toBe('run_id=run-1');
    expect(calls('watchOperations')).toEqual([]);
  });

  it('that fails exits 1, says where the log is, and shows the banner over the state', async () => {
    const running = cli.launch('run start machine-1 --type REBOOT');
    await until(isWatched);
    begin(cli.fleet, 'run-1');
    cli.fleet.addMachine(inMaintenance('machine-1', ['NeedsIntervention']));
    end(cli.fleet, 'run-1', Operation_Phase.FAILED, 12);
    const { code, stdout, stderr } = await running.ended;
    expect(stdout).toContain(
      '│ ✗ FAILED\n│ Duration: 12s\n│ Error: SSH connection refused [EXECUTION_FAILED]\n',
    );
    expect(stdout).toContain('│ Banners: NeedsIntervention\n');
    expect(stderr).toContain('  log: ingot run logs run-1\n  machine: ingot show machine-1\n');
    expect(code).toBe(1);
  });

  it('that is canceled exits 2', async () => {
    const running = cli.launch('run start machine-1 --type UPGRADE -q');
    await until(isWatched);
    end(cli.fleet, 'run-1', Operation_Phase.CANCELED, 3);
    expect(await running.ended).toMatchObject({ code: 2, stdout: 'Run: run-1 (PENDING → CANCELED)\n' });
  });

  it('ends with 8 at the timeout and says how to go on', async () => {
    const { code, stderr } = await cli.run('run start machine-1 --type JOIN --timeout 300ms');
    expect(code).toBe(8);
    expect(stderr).toBe(`\
request-id: made-up-id
still running after 0.3s (--timeout): run-1 continues on the server
  attach: ingot run attach run-1   (or ingot run watch machine-1)
  log: ingot run logs run-1
  cancel: ingot run cancel run-1
`);
  });

  it('need not wait, and answers the same request id with the same run', async () => {
    const line = 'run start machine-1 --type RMA --request-id r1';
    expect(await cli.run(`${line} --no-wait`)).toEqual({
      code: 0,
      stdout: 'Run: run-1 PENDING\n',
      stderr: '  attach: ingot run attach run-1\n',
    });
    end(cli.fleet, 'run-1', Operation_Phase.SUCCEEDED, 3);
    expect(await cli.run(line)).toEqual({ code: 0, stdout: 'Run: run-1 (SUCCEEDED)\n', stderr: '' });
    expect(cli.fleet.operations.size).toBe(1);
  });

  it('gives the run with the field names of v1', async () => {
    const { stdout } = await cli.run('run start machine-1 --type REPAVE --no-wait -o json');
    expect(JSON.parse(stdout)).toMatchObject({
      run_id: 'run-1',
      type: 'REPAVE',
      phase: 'PENDING',
      steps: [],
    });
  });

  it('leaves a way to ask again without doing the work twice', async () => {
    const { stderr } = await launch('127.0.0.1:1', 'run start m-1 --type JOIN --plan p --no-wait').ended;
    expect(stderr).toContain(
      '  retry safely: ingot run start m-1 --type JOIN --plan p --request-id=made-up-id\n',
    );
  });

  it('survives a restart of the server without a gap or a repetition', async () => {
    const running = cli.launch('run start machine-1 --type REPAVE');
    await until(isWatched);
    begin(cli.fleet, 'run-1');
    startStep(cli.fleet, 'run-1', 0);
    logStep(cli.fleet, 'run-1', 0);
    await until(() => running.stdout.text.includes('DHCP updated'));
    cli.server.stop();
    await until(() => running.stderr.text.includes('lost'));
    endStep(cli.fleet, 'run-1', 0);
    cli.server = await startFakeServer(cli.fleet, cli.server.port);
    await until(() => running.stderr.text.includes('again\n'));
    end(cli.fleet, 'run-1', Operation_Phase.SUCCEEDED);
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    for (const line of ['→ netboot...', 'DHCP updated', '✓ netboot'])
      expect(stdout.split(line)).toHaveLength(2);
  });
});

describe('run start on several machines', () => {
  beforeEach(() => {
    cli.fleet.nextOperationIds = [];
    cli.fleet.onStart = ({ operationId }) =>
      setTimeout(() => {
        begin(cli.fleet, operationId);
        end(cli.fleet, operationId, Operation_Phase.SUCCEEDED, 5);
      }, 50);
  });

  it('gives each a line', async () => {
    const { code, stdout, stderr } = await cli.run(
      'run start machine-1 machine-2 --type REBOOT --request-id r',
    );
    expect(stderr).toBe(
      'run REBOOT on 2 machines:\n  machine-1  machine-2\nrollout: ro-1\n2 machines: 2 succeeded\n',
    );
    expect(stdout.split('\n').sort()).toEqual([
      '',
      'machine-1  run-machine-1  SUCCEEDED  5s',
      'machine-2  run-machine-2  SUCCEEDED  5s',
    ]);
    expect(code).toBe(0);
  });

  it.each([
    ['REPAVE', ''],
    ['RMA', ''],
    ['REBOOT', ' --plan of-my-own'],
  ])('asks before %s%s, and does nothing on a no', async (type, plan) => {
    const line = `run start machine-1 machine-2 --type ${type}${plan}`;
    const declined = await cli.run(line, { isTerminal: true, answer: 'n\n' });
    expect(declined.stderr).toContain(`run ${type} on 2 machines? [y/N] error: declined: nothing was done\n`);
    expect(declined.code).toBe(2);
    expect(await cli.run(line)).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
    expect(calls('createRollout')).toEqual([]);
    expect(await cli.run(`${line} --yes`)).toMatchObject({ code: 0 });
    expect(calls('createRollout').map(({ request }) => request.spec.machineIds)).toEqual([
      ['machine-1', 'machine-2'],
    ]);
  });

  it('does not ask for one that was named, as reimage does not', async () => {
    expect(await cli.run('run start machine-1 --type REPAVE -q')).toMatchObject({ code: 0 });
    expect(await cli.run('run start machine-2 machine-2 --type RMA -q')).toMatchObject({ code: 0 });
  });
});

describe('runs under way', () => {
  beforeEach(() => {
    cli.fleet.start(OperationType.REIMAGE, { machineId: 'machine-1', requestId: 'r1' });
    cli.fleet.change('run-1', { planId: 'plan-7', startedBy: 'admin:admin', progressPercent: 40 });
    begin(cli.fleet, 'run-1');
    startStep(cli.fleet, 'run-1', 1);
  });

  it('are listed', async () => {
    cli.fleet.start(OperationType.NET_RECONFIG, { machineId: 'machine-2', requestId: 'r2' });
    end(cli.fleet, 'op-machine-2', Operation_Phase.FAILED, 72);
    const { stdout } = await cli.run('run list', { now });
    expect(stdout).toBe(`\
RUN_ID        MACHINE_ID  TYPE          PHASE    STEP        AGE  DURATION  ERROR
run-1         machine-1   REPAVE        RUNNING  reboot 2/3  3h   3h 0m     -
op-machine-2  machine-2   NET_RECONFIG  FAILED   -           3h   -         SSH connection refused [EXECUTION_FAILED]
`);
    expect((await cli.run('run list --limit 1 -o name')).stdout).toBe('run-1\n');
    await cli.run('run list -m machine-1 --filter type=REPAVE');
    expect(calls('v1.listRuns').at(-1)?.request.filter).toBe('(type=REPAVE) AND (machine_id=machine-1)');
  });

  it('are shown with their steps', async () => {
    const { stdout } = await cli.run('run show run-1', { now });
    expect(stdout).toBe(`\
Run:          run-1
Machine:      machine-1
Type:         REPAVE
Plan:         plan-7
Phase:        RUNNING
Current step: reboot 2/3
Progress:     40%
Error:        -
Request id:   r1
Started by:   admin:admin
Created:      2026-01-30T10:00:00Z
Started:      2026-01-30T10:00:00Z
Finished:     -
Duration:     3h 0m

STEP     KIND     STATE      PROGRESS  RETRIES  DURATION  STARTED               FINISHED              MESSAGE
netboot  netboot  SUCCEEDED  100%      0        30s       2026-01-30T10:00:00Z  2026-01-30T10:00:30Z  -
reboot   reboot   RUNNING    0%        0        2h 59m    2026-01-30T10:01:00Z  -                     -
repave   repave   WAITING    0%        0        -         -                     -                     -
`);
    expect((await cli.run('run run-1', { now })).stdout).toBe(stdout);
    expect(JSON.parse((await cli.run('run show run-1 -o json')).stdout)).toMatchObject({
      run_id: 'run-1',
      current_step: 'reboot',
      steps: [{ state: 'SUCCEEDED', retry_count: 0 }, { state: 'RUNNING' }, { state: 'WAITING' }],
    });
  });

  it('can be attached to', async () => {
    const running = cli.launch('run attach run-1');
    await until(() => running.stdout.text.includes('→ reboot'));
    end(cli.fleet, 'run-1', Operation_Phase.FAILED);
    expect(await running.ended).toMatchObject({ code: 1 });
  });

  it('have logs', async () => {
    logStep(cli.fleet, 'run-1', 0);
    end(cli.fleet, 'run-1', Operation_Phase.SUCCEEDED);
    expect((await cli.run('run logs run-1')).stdout).toBe(
      '[netboot] Configuring PXE for ubuntu-2204\n[netboot] DHCP updated\n',
    );
    const [line] = (await cli.run('run logs run-1 -o jsonl')).stdout.split('\n');
    expect(JSON.parse(line ?? '')).toMatchObject({
      run_id: 'run-1',
      text: 'Configuring PXE for ubuntu-2204',
    });
  });

  it('are canceled, and the command waits until they have stopped', async () => {
    const running = cli.launch('run cancel run-1 --reason "wrong image"');
    await until(isWatched);
    end(cli.fleet, 'run-1', Operation_Phase.CANCELED);
    expect(await running.ended).toEqual({
      code: 0,
      stdout: 'Run: run-1 (RUNNING → CANCELED)\n',
      stderr: '',
    });
    expect(calls('v1.cancelRun')[0]?.request).toMatchObject({ runId: 'run-1', reason: 'wrong image' });
  });

  it('are watched, a line for each change of phase', async () => {
    const running = cli.launch('run watch machine-1');
    await until(() => running.stdout.text.includes('RUNNING'));
    cli.fleet.change('run-1', {}, OperationEvent_Kind.STEP, 3);
    cli.fleet.change('run-1', { cancelRequested: true }, OperationEvent_Kind.OPERATION, 4);
    cli.fleet.change('run-1', { phase: Operation_Phase.CANCELED }, OperationEvent_Kind.OPERATION, 5);
    await until(() => running.stdout.text.includes('CANCELED'));
    running.signals.emit('SIGINT');
    const line = (seconds: number, phase: string) =>
      `[${clockText(at(seconds))}] machine-1  run-1  REPAVE             ${phase}\n`;
    expect(await running.ended).toEqual({
      code: 0,
      stdout: line(0, 'RUNNING') + line(4, 'RUNNING (canceling)') + line(5, 'CANCELED'),
      stderr: '',
    });
    expect(calls('v1.watchRuns')[0]?.request.filter).toBe('machine_id=machine-1');
    expect(await cli.run('run watch machin-1')).toMatchObject({ code: 1, stdout: '' });
  });
});
