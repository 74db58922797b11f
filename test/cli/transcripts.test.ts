import { describe, expect, it } from 'vitest';
import { clockText } from '../../src/cli/output/time-text.ts';
import { EffectiveState_Value, MachineStatus_Phase } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { Operation_Phase } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { OperationEvent_Kind } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { until } from '../parts/until.ts';
import { at } from './fake-server.ts';
import { useFakeServer } from './harness.ts';
import { begin, end, endStep, inMaintenance, logStep, playReimage, progress, startStep } from './play.ts';

const cli = useFakeServer();
const as = { program: 'bmdemo-cli' };

const REIMAGE_TRANSCRIPT = `\
┌─────────────────────────────────────────────────────────────
│ Operation: op-abc123
│ Machine: machine-1
│ Type: REIMAGE
│ Phase: MAINTENANCE → EffectiveState: BUSY
└─────────────────────────────────────────────────────────────

→ Setting netboot...
│ [netboot] Configuring PXE for ubuntu-2204
│ [netboot] DHCP updated
✓ Netboot configured

→ Rebooting machine...
│ [reboot] Sending IPMI reset command
│ [reboot] Waiting for machine to come back
✓ Reboot complete

→ Repaving...
│ [repave] Writing image ubuntu-2204
│ [repave] Progress: 45%
│ [repave] Progress: 90%
│ [repave] Image written successfully
✓ Repave complete

┌─────────────────────────────────────────────────────────────
│ ✓ SUCCEEDED
│ Duration: 4m 32s
└─────────────────────────────────────────────────────────────

Machine state after operation:
┌─────────────────────────────────────────────────────────────
│ Phase: MAINTENANCE (unchanged)
│ EffectiveState: MAINTENANCE (was BUSY)
│ Conditions: Provisioned=✓, InCustomerCluster=✓ (newly set)
│ ActiveOperationId: (cleared)
└─────────────────────────────────────────────────────────────
`;

/** A reimage that is accepted as op-abc123 and then left to the test. */
function acceptReimage(): void {
  cli.fleet.addMachine(inMaintenance('machine-1', ['Provisioned']));
  cli.fleet.nextOperationIds = ['op-abc123'];
  cli.fleet.onStart = ({ operationId }) =>
    cli.fleet.addMachine(inMaintenance('machine-1', ['Provisioned'], operationId));
}

const isWatched = () => cli.fleet.calls.some(({ method }) => method === 'watchOperations');

describe('a reimage', () => {
  it('is drawn as docs/operations-api.md draws it', async () => {
    acceptReimage();
    const running = cli.launch('reimage machine-1 --image ubuntu-2204', as);
    await until(isWatched);
    playReimage(cli.fleet, 'op-abc123');
    const { code, stdout, stderr } = await running.ended;
    expect(stdout).toBe(REIMAGE_TRANSCRIPT);
    expect(stderr).toBe('request-id: made-up-id\n');
    expect(code).toBe(0);
    expect(cli.fleet.calls.find(({ method }) => method === 'reimageMachine')?.request).toMatchObject({
      machineId: 'machine-1',
      requestId: 'made-up-id',
      imageRef: 'ubuntu-2204',
    });
  });

  it('reads the same when the log arrives late, early, or with the steps all at once', async () => {
    acceptReimage();
    const running = cli.launch('reimage machine-1 --image=ubuntu-2204', as);
    await until(isWatched);
    begin(cli.fleet, 'op-abc123');
    logStep(cli.fleet, 'op-abc123', 0);
    startStep(cli.fleet, 'op-abc123', 0);
    endStep(cli.fleet, 'op-abc123', 0);
    startStep(cli.fleet, 'op-abc123', 1);
    endStep(cli.fleet, 'op-abc123', 1);
    logStep(cli.fleet, 'op-abc123', 1);
    startStep(cli.fleet, 'op-abc123', 2);
    progress(cli.fleet, 'op-abc123', 2, 45);
    progress(cli.fleet, 'op-abc123', 2, 90);
    logStep(cli.fleet, 'op-abc123', 2);
    endStep(cli.fleet, 'op-abc123', 2);
    cli.fleet.addMachine(inMaintenance('machine-1', ['Provisioned', 'InCustomerCluster']));
    end(cli.fleet, 'op-abc123', Operation_Phase.SUCCEEDED);
    expect((await running.ended).stdout.split('\n').filter((line) => !line.includes('Progress:'))).toEqual(
      REIMAGE_TRANSCRIPT.split('\n').filter((line) => !line.includes('Progress:')),
    );
  });

  it('prints a percentage once, if no log line has it', async () => {
    acceptReimage();
    const running = cli.launch('reimage machine-1', as);
    await until(isWatched);
    begin(cli.fleet, 'op-abc123');
    startStep(cli.fleet, 'op-abc123', 2);
    progress(cli.fleet, 'op-abc123', 2, 30);
    progress(cli.fleet, 'op-abc123', 2, 30);
    endStep(cli.fleet, 'op-abc123', 2);
    end(cli.fleet, 'op-abc123', Operation_Phase.SUCCEEDED);
    expect((await running.ended).stdout.match(/│ \[repave\] Progress: 30%/g)).toHaveLength(1);
  });

  it('that was finished before the watch started is still shown completely', async () => {
    acceptReimage();
    cli.fleet.onStart = ({ operationId }) => setTimeout(() => playReimage(cli.fleet, operationId), 0);
    cli.fleet.onCall = (method) => {
      if (method === 'watchOperations')
        expect(cli.fleet.operation('op-abc123').phase).toBe(Operation_Phase.SUCCEEDED);
    };
    const { stdout, code } = await cli.run('reimage machine-1', as);
    const lines = stdout.split('\n').filter((line) => /^[→✓│] (?!Phase|Effective)/.test(line));
    expect(lines).toEqual(
      REIMAGE_TRANSCRIPT.split('\n').filter((line) => /^[→✓│] (?!Phase|Effective)/.test(line)),
    );
    expect(code).toBe(0);
  });

  it('with --quiet is one line with the phases it went through', async () => {
    acceptReimage();
    const running = cli.launch('reimage machine-1 --request-id=deploy-v2.1 --quiet', as);
    await until(isWatched);
    playReimage(cli.fleet, 'op-abc123');
    expect(await running.ended).toEqual({
      code: 0,
      stdout: 'Operation: op-abc123 (PENDING → RUNNING → SUCCEEDED)\n',
      stderr: '',
    });
    // Retry with same request-id (safe!)
    expect(await cli.run('reimage machine-1 --request-id=deploy-v2.1', as)).toEqual({
      code: 0,
      stdout: 'Operation: op-abc123 (SUCCEEDED)\n',
      stderr: '',
    });
  });

  it('that fails says so, exits 1, and says where the log is', async () => {
    acceptReimage();
    const running = cli.launch('reimage machine-1', as);
    await until(isWatched);
    begin(cli.fleet, 'op-abc123');
    startStep(cli.fleet, 'op-abc123', 0);
    end(cli.fleet, 'op-abc123', Operation_Phase.FAILED, 12);
    const { code, stdout, stderr } = await running.ended;
    expect(stdout).toContain(
      '│ ✗ FAILED\n│ Duration: 12s\n│ Error: SSH connection refused [EXECUTION_FAILED]\n',
    );
    expect(stderr).toContain('  log: bmdemo-cli logs op-abc123\n');
    expect(code).toBe(1);
  });

  it('that is canceled exits 2', async () => {
    acceptReimage();
    const running = cli.launch('reimage machine-1', as);
    await until(isWatched);
    begin(cli.fleet, 'op-abc123');
    cli.fleet.change('op-abc123', { cancelRequested: true });
    end(cli.fleet, 'op-abc123', Operation_Phase.CANCELED, 3);
    const { code, stdout } = await running.ended;
    expect(stdout).toContain('⊘ Cancel requested; stopping...\n');
    expect(stdout).toContain('│ ⊘ CANCELED\n│ Duration: 3s\n');
    expect(code).toBe(2);
  });

  it('with -o json gives the operation alone on stdout and the display on stderr', async () => {
    acceptReimage();
    const running = cli.launch('reimage machine-1 -o json', as);
    await until(isWatched);
    playReimage(cli.fleet, 'op-abc123');
    const { stdout, stderr } = await running.ended;
    expect(JSON.parse(stdout)).toMatchObject({
      operation_id: 'op-abc123',
      phase: 'SUCCEEDED',
      type: 'REIMAGE',
    });
    expect(stderr).toContain('✓ Repave complete');
  });
});

describe('entering and leaving maintenance', () => {
  it('is one line', async () => {
    cli.fleet.addMachine(inMaintenance('machine-1', []));
    cli.fleet.nextOperationIds = ['op-111', 'op-333'];
    cli.fleet.onStart = ({ operationId }) =>
      setTimeout(() => {
        begin(cli.fleet, operationId);
        end(cli.fleet, operationId, Operation_Phase.SUCCEEDED, 1);
      }, 20);
    expect((await cli.run('enter-maintenance machine-1', as)).stdout).toBe('Operation: op-111 SUCCEEDED\n');
    const exit = await cli.run('exit-maintenance machine-1 --request-id=another', as);
    expect(exit).toEqual({ code: 0, stdout: 'Operation: op-333 SUCCEEDED\n', stderr: '' });
  });

  it('that fails is two', async () => {
    cli.fleet.addMachine(inMaintenance('machine-1', []));
    cli.fleet.nextOperationIds = ['op-444'];
    cli.fleet.onStart = ({ operationId }) =>
      setTimeout(() => end(cli.fleet, operationId, Operation_Phase.FAILED, 1), 20);
    const { code, stdout } = await cli.run('enter-maintenance machine-1', as);
    expect(stdout).toBe('Operation: op-444 FAILED\nError: SSH connection refused\n');
    expect(code).toBe(1);
  });
});

describe('list', () => {
  it('prints the table of docs/operations-api.md', async () => {
    const { READY, MAINTENANCE } = MachineStatus_Phase;
    const { IDLE, BUSY, ATTENTION, BLOCKED } = EffectiveState_Value;
    const good = ['Reachable', 'Provisioned'].map((type) => ({ type, status: true }));
    const more = (type: string) => [...good, { type, status: true }];
    cli.fleet.addMachine({
      machineId: 'machine-1',
      status: { phase: READY, effectiveState: IDLE, conditions: good },
    });
    cli.fleet.addMachine({
      machineId: 'machine-2',
      status: { phase: MAINTENANCE, effectiveState: BUSY, conditions: good, activeOperationId: 'op-abc123' },
    });
    cli.fleet.addMachine({
      machineId: 'machine-3',
      status: { phase: READY, effectiveState: ATTENTION, conditions: more('NeedsIntervention') },
    });
    cli.fleet.addMachine({
      machineId: 'machine-4',
      status: { phase: READY, effectiveState: BLOCKED, conditions: [{ type: 'RMA', status: true }] },
    });
    cli.fleet.addMachine({
      machineId: 'machine-5',
      status: {
        phase: MAINTENANCE,
        effectiveState: EffectiveState_Value.MAINTENANCE,
        conditions: [
          { type: 'Reachable', status: false },
          { type: 'Provisioned', status: true },
        ],
      },
    });
    expect((await cli.run('list', as)).stdout).toBe(`\
MACHINE_ID   PHASE        EFFECTIVE   REACHABLE  PROVISIONED  ACTIVE_OP  CONDITIONS
machine-1    READY        IDLE        ✓          ✓            -          -
machine-2    MAINTENANCE  BUSY        ✓          ✓            op-abc123  -
machine-3    READY        ⚠ATTENTION  ✓          ✓            -          NeedsIntervention=✓
machine-4    READY        ⛔BLOCKED   -          -            -          RMA=✓
machine-5    MAINTENANCE  MAINT       ✗          ✓            -          -
`);
  });
});

describe('watch', () => {
  it('prints a line for each change of phase, until Ctrl-C', async () => {
    cli.fleet.addMachine({ machineId: 'machine-1' });
    const running = cli.launch('watch', as);
    await until(isWatched);
    cli.fleet.start(3, { machineId: 'machine-1', requestId: 'r' });
    const send = (phase: Operation_Phase, seconds: number) =>
      cli.fleet.change('op-machine-1', { phase }, OperationEvent_Kind.OPERATION, seconds);
    send(Operation_Phase.PENDING, 1);
    send(Operation_Phase.RUNNING, 2);
    cli.fleet.change('op-machine-1', {}, OperationEvent_Kind.STEP, 3);
    cli.fleet.change('op-machine-1', { cancelRequested: true }, OperationEvent_Kind.OPERATION, 4);
    cli.fleet.change('op-machine-1', { status: 'compensating' }, OperationEvent_Kind.OPERATION, 4);
    send(Operation_Phase.SUCCEEDED, 5);
    await until(() => running.stdout.text.includes('SUCCEEDED'));
    running.signals.emit('SIGINT');
    const line = (seconds: number, phase: string) =>
      `[${clockText(at(seconds))}] machine-1  op-machine-1  ENTER_MAINTENANCE  ${phase}\n`;
    expect(await running.ended).toEqual({
      code: 0,
      stdout: line(1, 'PENDING') + line(2, 'RUNNING') + line(4, 'RUNNING (canceling)') + line(5, 'SUCCEEDED'),
      stderr: '',
    });
  });

  it('of a machine that does not exist is an error, not an endless silence', async () => {
    expect(await cli.run('watch machin-1')).toMatchObject({ code: 1, stdout: '' });
  });
});
