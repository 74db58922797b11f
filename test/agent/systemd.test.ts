/**
 * The agent under a real systemd: a user manager in its own mount namespace. Such a manager has neither DynamicUser nor
 * the sandbox, so those lines are left out; what is about notifying, watching and restarting is as the unit has it, with
 * shorter times. LoadCredential= is stood in for by a copy at each start, which is what it does.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useAgentBundle } from './agent-process.ts';
import { Gateway } from './gateway.ts';

const SYSTEMD = ['/usr/lib/systemd/systemd', '/lib/systemd/systemd'].find(existsSync);
const isShort = process.env.INGOT_LONG_TESTS !== '1';
const isPossible =
  SYSTEMD !== undefined && spawnSync('unshare', ['-m', '--propagation', 'private', 'true']).status === 0;

const UNUSABLE =
  /^(?:DynamicUser|NoNewPriv|Capability|Ambient|Protect|Private|Restrict(?:Address|Name|Real|SUID)|LockPers|SystemCall|UMask|Wants=|After=|Requires=|DefaultDep)/;

describe.skipIf(isShort || !isPossible)('under systemd', () => {
  const bundle = useAgentBundle();
  const gateway = new Gateway();
  let folder = '';
  let manager: ChildProcess;

  const path = (name: string) => join(folder, name);
  const putToken = (token: string) => writeFileSync(path('token'), token);

  function systemctl(...args: string[]): string {
    const inside = ['-t', String(manager.pid), '-m', 'env', `XDG_RUNTIME_DIR=${path('run')}`];
    const { stdout } = spawnSync('nsenter', [...inside, 'systemctl', '--user', ...args], {
      encoding: 'utf8',
    });
    return stdout;
  }

  function shown(): Record<string, string> {
    const names = 'ActiveState,StatusText,NRestarts,ExecMainStatus,MainPID';
    const lines = systemctl('show', 'ingot-agent', '-p', names).trim().split('\n');
    return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
  }

  const becomes = (wanted: Readonly<Record<string, string>>) =>
    expect.poll(shown, { timeout: 30_000, interval: 100 }).toMatchObject(wanted);

  async function unit(): Promise<string> {
    const args = ['--server', gateway.url, '--machine-id', '1165a9b6', '--pool', 'gpu', '--interval', '0.5'];
    const install = bundle.start(['install', ...args, '--token-file', path('token')]);
    await install.ended;
    const credential = [
      `Environment=CREDENTIALS_DIRECTORY=${path('credentials')}`,
      `ExecStartPre=/bin/cp ${path('token')} ${path('credentials')}/machine-token`,
    ];
    return install
      .stdout()
      .split('\n')
      .filter((line) => !UNUSABLE.test(line))
      .flatMap((line) => (line.startsWith('LoadCredential=') ? credential : [line]))
      .join('\n')
      .replace('RestartSec=10', 'RestartSec=1')
      .replace('WatchdogSec=300', 'WatchdogSec=4');
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ingot-systemd-'));
    for (const name of ['run/systemd/user', 'credentials']) mkdirSync(path(name), { recursive: true });
    putToken('first-token');
    await gateway.start();
    writeFileSync(path('run/systemd/user/ingot-agent.service'), await unit());
    await gateway.stop();
    const script = `mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec ${SYSTEMD} --user --log-target=null`;
    manager = spawn('unshare', ['-m', '--propagation', 'private', 'sh', '-c', script], {
      detached: true,
      stdio: 'ignore',
      env: { PATH: process.env.PATH, HOME: folder, XDG_RUNTIME_DIR: path('run') },
    });
    for (const end = Date.now() + 15_000; !existsSync(path('run/systemd/private')); await sleep(50))
      if (Date.now() > end) throw new Error('systemd does not answer');
  }, 60_000);
  afterAll(async () => {
    systemctl('stop', 'ingot-agent');
    const ended = new Promise((resolve) => manager.once('exit', resolve));
    manager.kill('SIGTERM');
    await ended;
    await gateway.stop();
    rmSync(folder, { recursive: true });
  });

  it('starts when it is registered, outlives its server, and is restarted or not by why it ended', async () => {
    systemctl('start', '--no-block', 'ingot-agent');
    await becomes({ ActiveState: 'activating', StatusText: 'registration failed' });
    // Longer than the watchdog's limit: the agent notifies it while the server is unreachable.
    await sleep(6_000);
    expect(shown()).toMatchObject({ ActiveState: 'activating', NRestarts: '0' });

    await gateway.start();
    await becomes({ ActiveState: 'active', StatusText: 'ready', NRestarts: '0' });
    await gateway.stop();
    await becomes({ StatusText: 'keepalive failed' });
    await sleep(6_000);
    expect(shown()).toMatchObject({ ActiveState: 'active', NRestarts: '0' });
    await gateway.start();
    await becomes({ StatusText: 'ready' });

    process.kill(Number(shown().MainPID), 'SIGSTOP');
    await becomes({ ActiveState: 'active', StatusText: 'ready', NRestarts: '1' });

    gateway.token = 'second-token';
    putToken('second-token');
    await becomes({ ActiveState: 'active', StatusText: 'ready', NRestarts: '2' });

    gateway.fault = 'revoked';
    await becomes({ ActiveState: 'failed', ExecMainStatus: '77' });
    await sleep(3_000);
    expect(shown()).toMatchObject({ ActiveState: 'failed', NRestarts: '2' });
  }, 180_000);
});
