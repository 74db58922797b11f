import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { findToken } from '../../src/cli/connection/find-token.ts';
import { launch, useFakeServer } from './harness.ts';

const cli = useFakeServer();
const sent = () => cli.fleet.calls.at(-1)?.authorization;

function folder(): string {
  return mkdtempSync(join(tmpdir(), 'ingot-cli-'));
}

describe('the server', () => {
  it.each(['nowhere', 'host:', 'host:0', 'host:70000', 'http://host:1', 'a b:1', ':50051'])(
    'INGOT_SERVER=%j is refused by name',
    async (address) => {
      const { code, stderr } = await launch(address, 'list').ended;
      expect(stderr).toBe(
        `error: INGOT_SERVER: "${address}" is not host:port (for example 127.0.0.1:50051)\n`,
      );
      expect(code).toBe(64);
    },
  );

  it('is the one of --server before that of the environment, wherever the option stands', async () => {
    const { address } = cli.server;
    expect(await launch('127.0.0.1:1', `list --server ${address}`).ended).toMatchObject({ code: 0 });
    expect(await launch('127.0.0.1:1', `--server=grpc://${address} list`).ended).toMatchObject({ code: 0 });
    expect((await cli.run('list --server nowhere')).stderr).toMatch(/^error: --server: "nowhere"/);
  });
});

describe('the token', () => {
  it('is that of INGOT_TOKEN', async () => {
    await cli.run('list', { env: { INGOT_TOKEN: 'abc' } });
    expect(sent()).toBe('Bearer abc');
  });

  it('is that of --token-file before it', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'my.token'), 'from-file\n');
    await cli.run('list --token-file my.token', { cwd });
    expect(sent()).toBe('Bearer from-file');
    expect(await cli.run('list --token-file none', { cwd })).toMatchObject({ code: 64 });
  });

  it('is found in the data directory, here or in a folder above', async () => {
    const root = folder();
    mkdirSync(join(root, '.ingot'));
    mkdirSync(join(root, 'a', 'b'), { recursive: true });
    writeFileSync(join(root, '.ingot', 'admin.token'), 'found\n');
    await cli.run('list', { cwd: join(root, 'a', 'b'), env: { INGOT_TOKEN: '' } });
    expect(sent()).toBe('Bearer found');
  });

  it('is that of INGOT_DATA_DIR alone where it is set', async () => {
    const cwd = folder();
    for (const name of ['.ingot', 'data']) {
      mkdirSync(join(cwd, name));
      writeFileSync(join(cwd, name, 'admin.token'), name);
    }
    await cli.run('list', { cwd, env: { INGOT_TOKEN: '', INGOT_DATA_DIR: 'data' } });
    expect(sent()).toBe('Bearer data');
  });

  it('that merely lies on this disk is not sent to another machine', () => {
    const cwd = folder();
    mkdirSync(join(cwd, '.ingot'));
    writeFileSync(join(cwd, '.ingot', 'admin.token'), 'found\n');
    const given = { tokenFile: undefined, env: {}, cwd };
    expect(findToken({ ...given, server: { host: '127.0.0.1', port: 1, tls: false } }).token).toBe('found');
    expect(findToken({ ...given, server: { host: '192.0.2.1', port: 1, tls: false } }).token).toBeUndefined();
    const env = { INGOT_TOKEN: 'meant' };
    expect(findToken({ ...given, env, server: { host: '192.0.2.1', port: 1, tls: false } }).token).toBe(
      'meant',
    );
  });

  it('with characters that can’t be sent is refused by name', async () => {
    const { code, stderr } = await cli.run('list', { env: { INGOT_TOKEN: 'a\nb' } });
    expect({ code, stderr }).toEqual({
      code: 64,
      stderr: 'error: INGOT_TOKEN: the token has invalid characters\n',
    });
  });
});

describe('the program', () => {
  it('lists commands that it was given, and runs them', async () => {
    const ran: unknown[] = [];
    const serve = {
      name: 'serve',
      description: 'Start the server',
      options: [{ flags: '--grpc-addr <host:port>', description: 'where gRPC listens' }],
      run: async (options: object) => {
        ran.push(options);
        return 7;
      },
    };
    const help = await cli.run('--help', { extraCommands: { serve: async () => serve } });
    expect(help.stdout).toMatch(/^ {2}serve +Start the server$/m);
    expect(help.code).toBe(0);
    expect(
      await cli.run('serve --grpc-addr h:1', { extraCommands: { serve: async () => serve } }),
    ).toMatchObject({ code: 7 });
    expect(ran).toEqual([{ grpcAddr: 'h:1' }]);
  });

  it('goes by the name it was started with', async () => {
    const { stdout } = await cli.run('--help', { program: 'bmdemo-cli' });
    expect(stdout).toMatch(/^Usage: bmdemo-cli <command> \[args\]$/m);
    expect((await cli.run('version', { program: 'bmdemo-cli' })).stdout).toMatch(
      /^bmdemo-cli \d+\.\d+\.\d+\n$/,
    );
  });

  it.each([
    'import',
    'list',
    'reboot',
    'reimage',
    'enter-maintenance',
    'exit-maintenance',
    'ops',
    'watch',
    'logs',
    'cancel',
  ])('has the command %s of docs/operations-api.md', async (command) => {
    expect((await cli.run('--help')).stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    expect((await cli.run(`${command} --help`)).code).toBe(0);
  });

  it('documents its exit codes', async () => {
    const { stdout } = await cli.run('--help');
    for (const code of [0, 1, 2, 4, 5, 8, 64]) expect(stdout).toMatch(new RegExp(`^  ${code} +\\S`, 'm'));
  });

  it('ends quietly when its reader goes away', async () => {
    for (let n = 0; n < 50; n++) cli.fleet.addMachine({ machineId: `m-${n}` });
    const running = cli.launch('watch');
    await sleep(100);
    running.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  });
});
