// @module-tag extended: rollouts/api.test.ts starts work on many machines.
import { beforeEach, describe, expect, it } from 'vitest';
import { Operation_Phase } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { until } from '../parts/until.ts';
import { startFakeServer } from './fake-server.ts';
import { useFakeServer } from './harness.ts';
import { begin, end, inMaintenance } from './play.ts';

const cli = useFakeServer();
const started = () => cli.fleet.calls.filter(({ method }) => method === 'createRollout');
const startedIds = () => started().flatMap(({ request }) => request.spec.machineIds);

beforeEach(() => {
  for (const n of [1, 2, 3]) cli.fleet.addMachine(inMaintenance(`machine-${n}`, []));
  cli.fleet.onStart = ({ operationId }) =>
    setTimeout(() => {
      begin(cli.fleet, operationId);
      end(cli.fleet, operationId, Operation_Phase.SUCCEEDED, 5);
    }, 50);
});

describe('a bulk action', () => {
  it('shows how many and which, and gives each machine a line', async () => {
    const { code, stdout, stderr } = await cli.run('reboot machine-1 machine-2 machine-2 --request-id r');
    expect(stderr).toBe(
      'reboot 2 machines:\n  machine-1  machine-2\nrollout: ro-1\n2 machines: 2 succeeded\n',
    );
    expect(stdout.split('\n').sort()).toEqual([
      '',
      'machine-1  op-machine-1  SUCCEEDED  5s',
      'machine-2  op-machine-2  SUCCEEDED  5s',
    ]);
    expect(code).toBe(0);
  });

  it('goes on past a machine that refuses, and exits with the worst', async () => {
    cli.fleet.refusals.set('machine-2', { errorCode: 'WRONG_PHASE', message: 'machine-2 is NEW' });
    const { code, stdout, stderr } = await cli.run('reboot machine-1 machine-2 machine-3');
    expect(stdout).toContain('machine-2  REFUSED  machine-2 is NEW [WRONG_PHASE]\n');
    expect(stdout).toContain('machine-3  op-machine-3  SUCCEEDED');
    expect(stderr).toContain('  fix: ingot enter-maintenance machine-2');
    expect(stderr).toContain('3 machines: 1 refused, 2 succeeded\n');
    expect(code).toBe(5);
  });

  it('fails when one machine fails', async () => {
    cli.fleet.onStart = ({ operationId, machineId }) =>
      setTimeout(() => {
        end(
          cli.fleet,
          operationId,
          machineId === 'machine-2' ? Operation_Phase.FAILED : Operation_Phase.SUCCEEDED,
          5,
        );
      }, 50);
    const { code, stdout } = await cli.run('reboot machine-1 machine-2');
    expect(stdout).toContain(
      'machine-2  op-machine-2  FAILED  5s  SSH connection refused [EXECUTION_FAILED]\n',
    );
    expect(code).toBe(1);
  });

  it('gives JSON as one array', async () => {
    const { stdout } = await cli.run('reboot machine-1 machine-2 -o json');
    expect(JSON.parse(stdout)).toHaveLength(2);
    const lines = (await cli.run('reboot machine-1 machine-2 -o jsonl')).stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).phase)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
  });

  it('waits for hundreds of machines', { tags: ['extended'] }, async () => {
    for (let n = 4; n <= 560; n++) cli.fleet.addMachine(inMaintenance(`machine-${n}`, []));
    const { code, stdout } = await cli.run('reboot --all --yes');
    expect(code).toBe(0);
    expect(stdout.match(/SUCCEEDED/g)).toHaveLength(560);
    const lines = (await cli.run('reboot --all --yes --request-id again -o jsonl')).stdout.trim().split('\n');
    expect(new Set(lines.map((line) => JSON.parse(line).machine_id)).size).toBe(560);
  });

  it('leaves what still runs at the timeout, with 8', async () => {
    cli.fleet.onStart = () => {};
    const { code, stdout, stderr } = await cli.run('reboot machine-1 machine-2 --timeout 200ms');
    expect(code).toBe(8);
    expect(stdout).toContain('machine-1  op-machine-1  RUNNING\n');
    expect(stderr).toContain('2 machines: 2 running\nro-1 continues on the server\n');
  });

  it('leaves the rollout running on Ctrl-C, and says how to follow, pause and abort it', async () => {
    cli.fleet.onStart = () => {};
    const running = cli.launch('reboot --all --yes');
    await until(() => cli.fleet.calls.some(({ method }) => method === 'watchRollout'));
    running.signals.emit('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(8);
    expect(stderr).toContain(`\
ro-1 continues on the server
  follow: ingot rollout watch ro-1
  pause: ingot rollout pause ro-1
  abort: ingot rollout abort ro-1
`);
    expect(startedIds()).toEqual(['machine-1', 'machine-2', 'machine-3']);
  });

  it('survives a restart of the server', { tags: ['extended'] }, async () => {
    cli.fleet.onStart = () => {};
    const running = cli.launch('reboot --all --yes');
    await until(() => cli.fleet.calls.some(({ method }) => method === 'watchRollout'));
    cli.server.stop();
    await until(() => running.stderr.text.includes('lost'));
    cli.server = await startFakeServer(cli.fleet, cli.server.port);
    await until(() => running.stderr.text.includes('again\n'));
    for (const n of [1, 2, 3]) end(cli.fleet, `op-machine-${n}`, Operation_Phase.SUCCEEDED, 5);
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(stdout.match(/SUCCEEDED/g)).toHaveLength(3);
  });

  it('is a rollout of one step, in waves and within limits', async () => {
    const line =
      'reimage -l rack=r42 --image ubuntu --yes --waves 1,50%,rest --max-parallel 2 --stop-after-failures 3';
    expect(await cli.run(`${line} --request-id r`)).toMatchObject({ code: 0 });
    expect(started().map(({ request }) => request)).toMatchObject([
      {
        requestId: 'r',
        spec: {
          name: 'reimage: labels.rack=r42',
          machineIds: ['machine-1', 'machine-2', 'machine-3'],
          steps: [{ step: { case: 'reimage', value: { imageRef: 'ubuntu' } } }],
          waves: ['1', '50%', 'rest'],
          maxParallel: '2',
          stop: { afterFailures: 3 },
        },
      },
    ]);
  });

  it('need not be waited for', async () => {
    cli.fleet.onStart = () => {};
    const { code, stdout, stderr } = await cli.run('reboot --all --yes --no-wait');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Rollout: ro-1 RUNNING\n' });
    expect(stderr).toContain('  follow: ingot rollout watch ro-1\n');
    expect(JSON.parse((await cli.run('reboot --all --yes --no-wait -o json')).stdout)).toMatchObject({
      rollout_id: 'ro-1',
    });
  });

  it('on one named machine is a plain operation', async () => {
    expect(await cli.run('reboot machine-1 -q')).toMatchObject({ code: 0 });
    expect(started()).toEqual([]);
  });

  it.each([
    ['enter-maintenance', { case: 'enterMaintenance' }],
    ['exit-maintenance', { case: 'exitMaintenance' }],
    ['onboard --pool web', { case: 'onboard', value: { pool: 'web' } }],
    ['decommission --mode soft_reset', { case: 'decommission', value: { mode: 'soft_reset' } }],
    ['drain', { case: 'drain' }],
    ['remove', { case: 'remove' }],
    ['erase --full-overwrite', { case: 'erase', value: { overwrite: 'whole' } }],
    ['run start --type REPAVE --plan p', { case: 'plan', value: { planId: 'p', type: 'REPAVE' } }],
  ])('of %s is a rollout of that step', async (line, step) => {
    expect(await cli.run(`${line} machine-1 machine-2 --yes`)).toMatchObject({ code: 0 });
    expect(started().map(({ request }) => request.spec)).toMatchObject([
      { machineIds: ['machine-1', 'machine-2'], steps: [{ step }] },
    ]);
  });
});

describe('a bulk action that needs a yes', () => {
  const QUESTION = 'reimage 2 machines? [y/N] ';

  it.each(['y\n', 'yes\n', 'Y\n'])('does the work on %j', async (answer) => {
    const { code, stderr } = await cli.run('reimage machine-1 machine-2', { isTerminal: true, answer });
    expect(stderr).toContain(QUESTION);
    expect(code).toBe(0);
    expect(startedIds()).toEqual(['machine-1', 'machine-2']);
  });

  it.each(['n\n', 'N\n', '\n', 'no\n', 'yep\n', 'nyes\n'])('does nothing on %j', async (answer) => {
    const { code, stderr } = await cli.run('reimage machine-1 machine-2', { isTerminal: true, answer });
    expect(stderr).toContain(`${QUESTION}error: declined: nothing was done\n`);
    expect(code).toBe(2);
    expect(started()).toEqual([]);
  });

  it('does nothing when the input ends or Ctrl-C comes', async () => {
    expect(await cli.run('reimage machine-1 machine-2', { isTerminal: true })).toMatchObject({ code: 2 });
    const running = cli.launch('reimage machine-1 machine-2', { isTerminal: true, answer: '' });
    await until(() => running.stderr.text.includes(QUESTION));
    running.signals.emit('SIGINT');
    expect(await running.ended).toMatchObject({ code: 2 });
    expect(started()).toEqual([]);
  });

  it('does nothing without a terminal and without --yes', async () => {
    const { code, stderr } = await cli.run('reimage machine-1 machine-2', { answer: 'y\n' });
    expect(stderr).toContain('add --yes');
    expect(code).toBe(2);
    expect(started()).toEqual([]);
  });

  it('does the work without a terminal with --yes', async () => {
    expect(await cli.run('reimage machine-1 machine-2 --yes')).toMatchObject({ code: 0 });
    expect(startedIds()).toHaveLength(2);
  });

  it('is every one that a filter chose, of whatever size and kind', async () => {
    expect(await cli.run('reboot -l rack=r42')).toMatchObject({ code: 2 });
    expect(await cli.run('enter-maintenance --filter phase=READY')).toMatchObject({ code: 2 });
    expect(await cli.run('exit-maintenance --all')).toMatchObject({ code: 2 });
    cli.fleet.machines.delete('machine-2');
    cli.fleet.machines.delete('machine-3');
    expect(await cli.run('reboot --all')).toMatchObject({ code: 2 });
    expect(started()).toEqual([]);
  });

  it('works on the machines that were shown, whatever the filter would choose by then', async () => {
    const running = cli.launch('reboot -l rack=r42', { isTerminal: true, answer: '' });
    await until(() => running.stderr.text.includes('[y/N]'));
    cli.fleet.addMachine(inMaintenance('machine-4', []));
    const lists = () => cli.fleet.calls.filter(({ method }) => method === 'listMachines');
    expect(lists()).toHaveLength(1);
    running.stdin.write('y\n');
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(lists()).toHaveLength(1);
    expect(startedIds().sort()).toEqual(['machine-1', 'machine-2', 'machine-3']);
  });

  it('that chose nothing does nothing', async () => {
    cli.fleet.machines.clear();
    const { code, stderr } = await cli.run('reimage -l rack=none --yes');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'no machine matches labels.rack=none; nothing was done\n',
    });
  });
});

describe('a selection', () => {
  it.each([
    ['reboot', 'which machine?'],
    ['reboot machine-1 -l rack=r42', 'not both'],
    ['reboot --all -l rack=r42', 'remove --filter and -l'],
    ['reboot ""', 'empty'],
    ['reboot -l rack', 'key=value'],
  ])('%j is refused as usage', async (line, complaint) => {
    const { code, stderr } = await cli.run(line);
    expect(stderr).toContain(complaint);
    expect(code).toBe(64);
    expect(started()).toEqual([]);
  });
});
