/** Views that are written again and again: `list -w` and `top`. And what runs another program: `ssh`, `open`, `--web`. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { EffectiveState_Value, MachineStatus_Phase } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { until } from '../parts/until.ts';
import { useFakeServer } from './harness.ts';
import { inMaintenance } from './play.ts';

const cli = useFakeServer();

describe('list -w', () => {
  it('draws over itself in one piece, cut to the height of the terminal', async () => {
    for (let n = 10; n < 60; n++) cli.fleet.addMachine(inMaintenance(`machine-${n}`, []));
    const running = cli.launch('list -w', { isTerminal: true });
    await until(() => running.stdout.text.includes('more lines'));
    const first = running.stdout.text;
    expect(first.startsWith('\u001b[2J\u001b[HMACHINE_ID')).toBe(true);
    expect(first.split('\n')).toHaveLength(24);
    expect(first).toContain('... 29 more lines\u001b[K\n\u001b[J');
    await until(() => running.stdout.text.length > first.length);
    expect(running.stdout.text.slice(first.length).startsWith('\u001b[HMACHINE_ID')).toBe(true);
    running.signals.emit('SIGINT');
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('keeps the last view while the server does not respond', async () => {
    cli.fleet.addMachine(inMaintenance('machine-1', []));
    const running = cli.launch('list -w', { isTerminal: true });
    await until(() => running.stdout.text.includes('machine-1'));
    await cli.server.stop();
    await until(() => running.stdout.text.includes('no answer from'));
    expect(running.stdout.text.split('no answer from')[1]).toContain('machine-1');
    running.signals.emit('SIGINT');
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('the headline', () => {
  it('is in the list, in one machine and in its colour, where the state alone would look well', async () => {
    const keepalive = { seconds: BigInt(Date.parse('2026-01-01T12:00:00Z') / 1000), nanos: 0 };
    cli.fleet.addMachine({
      machineId: 'machine-1',
      status: {
        phase: MachineStatus_Phase.READY,
        effectiveState: EffectiveState_Value.IDLE,
        presence: 'expired',
        service: 'offline',
        agent: { hostname: 'h', lastKeepalive: keepalive },
      },
    });
    const now = () => Date.parse('2026-01-01T12:10:00Z');
    const { stdout } = await cli.run('list', { now, isTerminal: true });
    expect(stdout).toMatch(/EFFECTIVE.*NOTE/);
    expect(stdout.replaceAll('\u001b', '^')).toMatch(/(\^\[\S*m)IDLE\s*\^\[0m.*\1agent lost 10 min/);
    expect((await cli.run('show machine-1', { now })).stdout).toContain('IDLE · agent lost 10 min');
  });
});

describe('ssh', () => {
  it('goes to the endpoint of the machine, and its exit code is that of ssh', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ingot-ssh-'));
    const log = join(folder, 'arguments');
    writeFileSync(join(folder, 'ssh'), `#!/bin/sh\nprintf '%s ' "$@" >'${log}'\nexit 7\n`);
    chmodSync(join(folder, 'ssh'), 0o755);
    vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
    try {
      cli.fleet.addMachine({ machineId: 'machine-1', spec: { sshEndpoint: '[2001:db8::1]:2222' } });
      expect(await cli.run('ssh machine-1 --user root -- uptime')).toMatchObject({ code: 7, stderr: '' });
      expect(readFileSync(log, 'utf8')).toBe('-p 2222 -l root -- 2001:db8::1 uptime ');
      // The options of what runs there are its own, with and without the dashes.
      for (const [typed, run] of [
        ['ssh machine-1 ls -la', 'ls -la'],
        ['ssh --user root machine-1 df -h', 'df -h'],
        ['machine ssh machine-1 --user root cat --version -o x', 'cat --version -o x'],
        ['ssh machine-1 -- ls -la', 'ls -la'],
        ['ssh machine-1 ls -- -la', 'ls -- -la'],
      ] as const) {
        expect(await cli.run(typed), typed).toMatchObject({ code: 7, stderr: '' });
        expect(readFileSync(log, 'utf8').split('2001:db8::1 ')[1], typed).toBe(`${run} `);
      }
    } finally {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
    }
  });

  it('names the command that gives a machine its endpoint', async () => {
    cli.fleet.addMachine({ machineId: 'machine-1' });
    const { code, stderr } = await cli.run('ssh machine-1');
    expect({ code, stderr }).toEqual({
      code: 64,
      stderr: 'error: machine-1 has no SSH endpoint: ingot update machine-1 --ssh-endpoint host:port\n',
    });
  });
});
