/** `ingot console`: in the process with a terminal's streams, and as a program on a real pseudo terminal. */
import { spawn, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { newMachine } from '../api/fleet.ts';
import { compileProgram } from '../cli/compiled.ts';
import { launch } from '../cli/harness.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { openConsole } from './console-client.ts';

let server: TestServer;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  server = await startTestServer();
  for (const name of ['alice', 'bob'])
    tokens[name] = (await server.admin.createToken({ name, role: 'operator' })).secret;
});
afterAll(() => server?.stop());

const typing = (line: string, as = 'alice') =>
  launch(server.grpcAddress, line, {
    env: { INGOT_TOKEN: tokens[as] ?? '' },
    isTerminal: true,
    answer: '',
  });
const piped = (line: string, as = 'alice') =>
  launch(server.grpcAddress, line, { env: { INGOT_TOKEN: tokens[as] ?? '' }, answer: '' });

test('types, shows, and disconnects with ~.', async () => {
  const machineId = await newMachine(server);
  const alice = typing(`console ${machineId}`);
  await until(() => alice.stdout.text.includes('login: '));
  await until(() => alice.stderr.text.includes('[you write]'));
  alice.stdin.write('root\r');
  await until(() => alice.stdout.text.includes('you typed 4 characters: root'));
  alice.stdin.write('\r~B');
  await until(() => alice.stdout.text.includes('break'));
  alice.stdin.write('~?');
  await until(() => alice.stderr.text.includes('~s  take the turn to write'));
  alice.stdin.write('~.');
  expect(await alice.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('disconnected from') });
  const events = await server.sql<{ to_state: string }>(
    `SELECT to_state FROM events WHERE kind = 'console' AND machine_id = $1 ORDER BY event_id`,
    [machineId],
  );
  expect(events.map(({ to_state }) => to_state)).toEqual(['opened', 'turn taken', 'written to', 'closed']);
});

test('a second one reads, and takes over with --steal or ~s', async () => {
  const machineId = await newMachine(server);
  const alice = typing(`console ${machineId}`);
  await until(() => alice.stderr.text.includes('[you write]'));
  const bob = typing(`console ${machineId}`, 'bob');
  await until(() => bob.stderr.text.includes('[operator:alice writes]'));
  bob.stdin.write('x');
  await until(() => bob.stderr.text.includes('nothing was typed'));
  bob.stdin.write('\r~s');
  await until(() => bob.stderr.text.includes('[you write]'));
  await until(() => alice.stderr.text.includes('[operator:bob writes]'));
  await until(() => alice.stdout.text.includes('operator:bob took the turn to write from operator:alice'));
  const third = typing(`machine console ${machineId} --steal`);
  await until(() => third.stderr.text.includes('[you write]'));
  for (const one of [alice, bob, third]) {
    one.stdin.write('\r~.');
    expect((await one.ended).code).toBe(0);
  }
});

test('without a terminal it reads until it is interrupted', async () => {
  const machineId = await newMachine(server);
  const alice = piped(`console ${machineId}`);
  await until(() => alice.stdout.text.includes('login: '));
  expect(alice.stdout.text).not.toContain('disconnects');
  alice.signals.emit('SIGINT');
  expect((await alice.ended).code).toBe(0);
});

test('--log prints what was recorded, and --follow goes on', async () => {
  const machineId = await newMachine(server);
  const writer = await openConsole(server.client(ConsoleService, tokens.bob), machineId, { tailBytes: 100 });
  await writer.shows('login: ');
  const { code, stdout, stderr } = await piped(`console ${machineId} --log`).ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/\[ingot .*: connected: a fake console\][\s\S]*login: $/);
  const following = piped(`console ${machineId} --log --follow`);
  await until(() => following.stdout.text.includes('login: '));
  await server.client(ConsoleService, tokens.bob).takeConsole({ sessionId: writer.sessionId });
  await writer.type('more\r');
  await until(() => following.stdout.text.includes('characters: more'));
  expect(following.stdout.text.split('connected: a fake console').length).toBe(2);
  following.signals.emit('SIGTERM');
  expect((await following.ended).code).toBe(0);
  await writer.leave();
});

test.each([
  ['console none-such', 1, 'there is no machine none-such'],
  ['console m --follow', 64, '--follow goes with --log'],
  ['console m --steal --read-only', 64, '--steal types'],
  ['console m --steal', 64, 'needs a terminal'],
])('%s ends with %i', async (line, code, said) => {
  expect(await piped(line).ended).toMatchObject({ code, stderr: expect.stringContaining(said) });
});

describe.skipIf(spawnSync('env', ['script', '--version']).status !== 0)('on a pseudo terminal', () => {
  test('Ctrl-C goes to the machine, and the terminal is as it was afterwards', {
    tags: ['extended'],
  }, async () => {
    const machineId = await newMachine(server);
    const { program, remove } = compileProgram();
    try {
      const env = {
        ...process.env,
        INGOT_SERVER: server.grpcAddress,
        INGOT_TOKEN: tokens.alice,
        TERM: 'screen',
      };
      const line = `${process.execPath} ${program} console ${machineId}; stty -a | grep -o -w -- -\\\\?icanon`;
      const child = spawn('env', ['script', '-qec', line, '/dev/null'], {
        env,
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      let seen = '';
      child.stdout.on('data', (data) => {
        seen += data;
      });
      const ended = new Promise((resolve) => child.once('close', resolve));
      await until(() => seen.includes('[you write]'));
      child.stdin.write('a\x03b\r');
      await until(() => seen.includes('you typed 3 characters: a\x03b'));
      child.stdin.write('~.');
      await ended;
      expect(seen.trim().split(/\s+/).at(-1)).toBe('icanon');
    } finally {
      remove();
    }
  });
});
