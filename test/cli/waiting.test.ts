import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, it } from 'vitest';
import { Operation_Phase, OperationType } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { until } from '../parts/until.ts';
import { startFakeServer, WireFault } from './fake-server.ts';
import { useFakeServer } from './harness.ts';
import {
  begin,
  end,
  endStep,
  inMaintenance,
  logStep,
  playReimage,
  REIMAGE_STEPS,
  startStep,
} from './play.ts';

const cli = useFakeServer();
const watches = () => cli.fleet.calls.filter(({ method }) => method === 'watchOperations');

function addMachine(): void {
  cli.fleet.addMachine(inMaintenance('machine-1', []));
  cli.fleet.nextOperationIds = ['op-1'];
}

describe('waiting', () => {
  it('ends with 8 at the timeout and says how to go on', async () => {
    addMachine();
    const { code, stderr } = await cli.run('reimage machine-1 --timeout 300ms');
    expect(code).toBe(8);
    expect(stderr).toBe(`\
request-id: made-up-id
still running after 0.3s (--timeout): op-1 continues on the server
  attach: ingot op watch op-1   (or ingot watch machine-1)
  log: ingot logs op-1
  cancel: ingot cancel op-1
`);
  });

  it('ends with 8 on Ctrl-C, and the operation is not canceled', async () => {
    addMachine();
    const running = cli.launch('reboot machine-1');
    await until(() => watches().length > 0);
    running.signals.emit('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(8);
    expect(stderr).toContain('detached: op-1 continues on the server\n  attach: ingot op watch op-1');
    expect(cli.fleet.calls.map(({ method }) => method)).not.toContain('cancelOperation');
    expect(running.signals.listenerCount('SIGINT')).toBe(0);
  });

  it('in the data formats still prints the operation', async () => {
    addMachine();
    const { code, stdout } = await cli.run('reboot machine-1 --timeout 200ms -o name -q');
    expect({ code, stdout }).toEqual({ code: 8, stdout: 'op-1\n' });
  });

  it('can be left out', async () => {
    addMachine();
    expect(await cli.run('reboot machine-1 --no-wait --request-id r1')).toEqual({
      code: 0,
      stdout: 'Operation: op-1 PENDING\n',
      stderr: '  attach: ingot op watch op-1\n',
    });
    expect(watches()).toHaveLength(0);
  });

  it('survives a restart of the server without a gap or a repetition', async () => {
    addMachine();
    const running = cli.launch('reimage machine-1');
    await until(() => watches().length > 0);
    begin(cli.fleet, 'op-1');
    startStep(cli.fleet, 'op-1', 0);
    logStep(cli.fleet, 'op-1', 0);
    await until(() => running.stdout.text.includes('DHCP updated'));
    cli.server.stop();
    await until(() => running.stderr.text.includes('lost'));
    endStep(cli.fleet, 'op-1', 0);
    startStep(cli.fleet, 'op-1', 1);
    logStep(cli.fleet, 'op-1', 1);
    cli.server = await startFakeServer(cli.fleet, cli.server.port);
    await until(() => running.stderr.text.includes('again\n'));
    endStep(cli.fleet, 'op-1', 1);
    end(cli.fleet, 'op-1', Operation_Phase.SUCCEEDED);
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(0);
    for (const step of REIMAGE_STEPS.slice(0, 2)) {
      for (const line of [...step.lines, `→ ${step.title}...`, `✓ ${step.doneTitle}`]) {
        expect(stdout.split(line)).toHaveLength(2);
      }
    }
    expect(stderr.match(/lost/g)).toHaveLength(1);
    expect(stderr.match(/connected to .* again/g)).toHaveLength(1);
  });

  it('goes on where a watch that was too slow was cut', async () => {
    addMachine();
    const running = cli.launch('reimage machine-1 -q');
    await until(() => watches().length > 0);
    begin(cli.fleet, 'op-1');
    let cuts = 0;
    const watch = cli.fleet.watch.bind(cli.fleet);
    cli.fleet.watch = async function* (request) {
      if (cuts++ > 0) return yield* watch(request);
      const metadata = { cursor: request.cursor };
      throw new WireFault(status.ABORTED, 'too slow', { reason: 'WATCH_TOO_SLOW', metadata });
    };
    cli.server.stop();
    cli.server = await startFakeServer(cli.fleet, cli.server.port);
    await until(() => watches().length > 2);
    end(cli.fleet, 'op-1', Operation_Phase.SUCCEEDED);
    expect((await running.ended).stdout).toBe('Operation: op-1 (PENDING → RUNNING → SUCCEEDED)\n');
  });

  it('does without a log that can’t be had', async () => {
    addMachine();
    cli.fleet.logsOf = () => {
      throw new WireFault(status.INTERNAL, 'no log store');
    };
    const running = cli.launch('reboot machine-1');
    await until(() => watches().length > 0);
    end(cli.fleet, 'op-1', Operation_Phase.SUCCEEDED);
    expect(await running.ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('no log: no log store'),
    });
  });
});

describe('op watch', () => {
  it('attaches to an operation under way and replays its log', async () => {
    addMachine();
    cli.fleet.start(OperationType.REIMAGE, { machineId: 'machine-1', requestId: 'r' });
    begin(cli.fleet, 'op-1');
    startStep(cli.fleet, 'op-1', 0);
    logStep(cli.fleet, 'op-1', 0);
    endStep(cli.fleet, 'op-1', 0);
    startStep(cli.fleet, 'op-1', 1);
    const running = cli.launch('op watch op-1');
    await until(() => running.stdout.text.includes('→ Rebooting'));
    end(cli.fleet, 'op-1', Operation_Phase.FAILED);
    const { code, stdout } = await running.ended;
    expect(code).toBe(1);
    expect(stdout).toContain(
      '→ Setting netboot...\n│ [netboot] Configuring PXE for ubuntu-2204\n│ [netboot] DHCP updated\n✓ ',
    );
  });
});

describe('of two streams', () => {
  const late = async function* <T>(stream: AsyncIterable<T>) {
    await sleep(400);
    yield* stream;
  };

  beforeEach(() => {
    addMachine();
    cli.fleet.start(OperationType.REIMAGE, { machineId: 'machine-1', requestId: 'r' });
  });

  it('a late log is still printed in its place', async () => {
    begin(cli.fleet, 'op-1');
    logStep(cli.fleet, 'op-1', 0);
    startStep(cli.fleet, 'op-1', 1);
    const logsOf = cli.fleet.logsOf.bind(cli.fleet);
    cli.fleet.logsOf = (request) => late(logsOf(request));
    for (const line of ['op watch op-1', 'run attach op-1']) {
      const running = cli.launch(line);
      await until(() => /→ reboot/i.test(running.stdout.text));
      running.signals.emit('SIGINT');
      const { stdout } = await running.ended;
      expect(stdout.indexOf('DHCP updated')).toBeGreaterThan(0);
      expect(stdout.indexOf('DHCP updated')).toBeLessThan(stdout.search(/→ reboot/i));
    }
  });

  it('a watch that comes late does not leave the log without its steps', async () => {
    const watch = cli.fleet.watch.bind(cli.fleet);
    cli.fleet.watch = (request) => late(watch(request));
    cli.fleet.onCall = (method) => {
      if (/streamRunLogs|streamOperationLogs/.test(method)) playReimage(cli.fleet, 'op-1');
    };
    for (const line of ['op watch op-1', 'run attach op-1']) {
      cli.fleet.change('op-1', { phase: Operation_Phase.PENDING, steps: [] });
      cli.fleet.logs.length = 0;
      const { code, stdout } = await cli.run(line);
      expect(code).toBe(0);
      expect(stdout.match(/^[→✓] \S+|^│ \[\w+\]/gm)?.slice(0, 4)).toEqual([
        expect.stringMatching(/^→ /),
        '│ [netboot]',
        '│ [netboot]',
        expect.stringMatching(/^✓ /),
      ]);
    }
  });
});

describe('cancel', () => {
  it('waits until the operation has stopped', async () => {
    addMachine();
    cli.fleet.start(OperationType.REIMAGE, { machineId: 'machine-1', requestId: 'r' });
    begin(cli.fleet, 'op-1');
    const running = cli.launch('cancel op-1 --reason "wrong image"');
    await until(() => watches().length > 0);
    end(cli.fleet, 'op-1', Operation_Phase.CANCELED);
    expect(await running.ended).toEqual({
      code: 0,
      stdout: 'Operation: op-1 (RUNNING → CANCELED)\n',
      stderr: '',
    });
    expect(cli.fleet.calls[0]?.request).toMatchObject({ operationId: 'op-1', reason: 'wrong image' });
  });
});

describe('logs', () => {
  it('stream from the first line to the end of the operation', async () => {
    addMachine();
    cli.fleet.start(OperationType.REIMAGE, { machineId: 'machine-1', requestId: 'r' });
    begin(cli.fleet, 'op-1');
    logStep(cli.fleet, 'op-1', 0);
    const running = cli.launch('logs op-1');
    await until(() => running.stdout.text.includes('DHCP'));
    cli.fleet.log('op-1', '', 'of no step', 500);
    end(cli.fleet, 'op-1', Operation_Phase.SUCCEEDED);
    expect(await running.ended).toEqual({
      code: 0,
      stdout: '[netboot] Configuring PXE for ubuntu-2204\n[netboot] DHCP updated\nof no step\n',
      stderr: '',
    });
  });

  it('as JSON hold their text', async () => {
    addMachine();
    cli.fleet.start(OperationType.REIMAGE, { machineId: 'machine-1', requestId: 'r' });
    cli.fleet.log('op-1', 'netboot', 'hello \u001b[31m');
    end(cli.fleet, 'op-1', Operation_Phase.SUCCEEDED);
    const { stdout } = await cli.run('logs op-1 -o json');
    expect(JSON.parse(stdout)).toMatchObject({
      operation_id: 'op-1',
      step: 'netboot',
      text: 'hello \u001b[31m',
    });
  });
});
