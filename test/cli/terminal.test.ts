// @module-tag extended: live-views.test.ts has views that refresh; this draws them in a terminal.
/** On a real pseudo terminal (util-linux's `script`) and through real pipes. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Operation_Phase } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { until } from '../parts/until.ts';
import { compileProgram } from './compiled.ts';
import { useFakeServer } from './harness.ts';
import { begin, end, endStep, inMaintenance, playReimage, progress, startStep } from './play.ts';

const cli = useFakeServer();
const hasScript = spawnSync('env', ['script', '--version']).status === 0;
let program = '';
let remove = () => {};

beforeAll(() => {
  ({ program, remove } = compileProgram());
}, 60_000);

afterAll(() => remove());

function start(file: string, args: readonly string[]) {
  const env = {
    ...process.env,
    INGOT_SERVER: cli.server.address,
    INGOT_TOKEN: 't',
    TERM: 'xterm',
    NO_COLOR: '',
  };
  const child = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const seen = { text: '' };
  child.stdout.on('data', (data) => {
    seen.text += data;
  });
  child.stderr.on('data', (data) => {
    seen.text += data;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child: child as ChildProcess, seen, ended };
}

const onTerminal = (line: string) =>
  start('env', ['script', '-qec', `stty cols 100; exec ${process.execPath} ${program} ${line}`, '/dev/null']);
const watched = () => cli.fleet.calls.some(({ method }) => method === 'watchOperations');

/** What a terminal shows in the end: every line as it was last drawn. */
function screen(text: string): string[] {
  return text.split(/\r?\n/).map(
    (line) =>
      line
        .split('\u001b[2K')
        .at(-1)
        ?.replace(/^\r|\r$/g, '') ?? '',
  );
}

describe.skipIf(!hasScript)('on a terminal', () => {
  it('a live line runs below the display and leaves nothing behind', { tags: ['extended'] }, async () => {
    cli.fleet.addMachine(inMaintenance('machine-1', []));
    cli.fleet.nextOperationIds = ['op-1'];
    const { seen, ended } = onTerminal('reimage machine-1');
    await until(watched);
    begin(cli.fleet, 'op-1');
    startStep(cli.fleet, 'op-1', 2);
    progress(cli.fleet, 'op-1', 2, 45);
    await until(() => /Repaving {2}step 3\/3 {2}45%/.test(seen.text));
    endStep(cli.fleet, 'op-1', 2);
    playReimage(cli.fleet, 'op-1');
    expect(await ended).toBe(0);
    const lines = screen(seen.text);
    expect(lines.filter((line) => /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(line))).toEqual([]);
    expect(lines).toContain('✓ Repave complete');
    expect(lines).toContain('│ \u001b[32m✓ SUCCEEDED\u001b[0m');
  });

  it('Ctrl-C detaches', { tags: ['extended'] }, async () => {
    cli.fleet.addMachine(inMaintenance('machine-1', []));
    cli.fleet.nextOperationIds = ['op-1'];
    const { child, seen, ended } = onTerminal('reboot machine-1');
    await until(() => watched() && seen.text.includes('REBOOT PENDING'));
    child.stdin?.write('\u0003');
    expect(await ended).toBe(8);
    expect(screen(seen.text)).toContain('detached: op-1 continues on the server');
    expect(cli.fleet.calls.map(({ method }) => method)).not.toContain('cancelOperation');
  });

  it.each([
    ['n', 2, 0],
    ['y', 0, 2],
  ])('answering %s to the question exits %i and starts %i', async (answer, code, count) => {
    for (const n of [1, 2]) cli.fleet.addMachine(inMaintenance(`machine-${n}`, []));
    cli.fleet.onStart = ({ operationId }) =>
      setTimeout(() => end(cli.fleet, operationId, Operation_Phase.SUCCEEDED, 1), 50);
    const { child, seen, ended } = onTerminal('reimage machine-1 machine-2');
    await until(() => seen.text.includes('[y/N]'));
    child.stdin?.write(`${answer}\n`);
    expect(await ended).toBe(code);
    expect(cli.fleet.operations.size).toBe(count);
  });

  it('a hostile log line stays text', async () => {
    cli.fleet.addMachine(inMaintenance('machine-1', []));
    cli.fleet.nextOperationIds = ['op-1'];
    cli.fleet.onStart = ({ operationId }) => {
      cli.fleet.log(operationId, '', 'evil \u001b[2J\u001b]0;owned\u0007');
      setTimeout(() => end(cli.fleet, operationId, Operation_Phase.SUCCEEDED, 1), 100);
    };
    const { seen, ended } = onTerminal('reboot machine-1');
    expect(await ended).toBe(0);
    expect(seen.text).toContain('│ evil \\x1b[2J\\x1b]0;owned\\x07');
    expect(seen.text).not.toContain('\u001b[2J');
  });
});

describe('through pipes', () => {
  const shell = (line: string) => start('bash', ['-c', line]);

  it('no control code is ever written', { tags: ['extended'] }, async () => {
    cli.fleet.addMachine(inMaintenance('machine-1', []));
    cli.fleet.nextOperationIds = ['op-1'];
    const { seen, ended } = start(process.execPath, [program, 'reimage', 'machine-1']);
    await until(watched);
    playReimage(cli.fleet, 'op-1');
    expect(await ended).toBe(0);
    expect(seen.text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  it('a reader that goes away ends a list and a watch quietly', { tags: ['extended'] }, async () => {
    for (let n = 0; n < 3000; n++) cli.fleet.addMachine(inMaintenance(`machine-${n}`, []));
    const list = shell(`${process.execPath} ${program} list | head -1; echo "\${PIPESTATUS[0]}"`);
    await list.ended;
    expect(list.seen.text).toMatch(/^MACHINE_ID.*\n0\n$/);
    const watch = shell(`${process.execPath} ${program} watch | head -1; echo "\${PIPESTATUS[0]}"`);
    await until(watched);
    cli.fleet.start(1, { machineId: 'machine-1', requestId: 'r' });
    const isOver = { yes: false };
    void watch.ended.then(() => {
      isOver.yes = true;
    });
    while (!isOver.yes) {
      cli.fleet.change('op-machine-1', {
        cancelRequested: !cli.fleet.operation('op-machine-1').cancelRequested,
      });
      await sleep(20);
    }
    expect(watch.seen.text).toMatch(/^\[.*PENDING( \(canceling\))?\n0\n$/);
  });
});
