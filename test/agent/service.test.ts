// @module-tag extended: src/agent/service/service-manager.test.ts has the protocol of systemd, with-server.test.ts the agent.
/** The agent as a service: what it notifies its manager of, and when it exits. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RunningAgent, useAgentBundle } from './agent-process.ts';
import { type Datagrams, noPerl, receiveDatagrams } from './datagrams.ts';
import { Gateway } from './gateway.ts';

const bundle = useAgentBundle();
let gateway: Gateway;
let folder = '';

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-service-'));
  gateway = new Gateway();
  await gateway.start();
});
afterEach(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true });
});

function start(env: Readonly<Record<string, string>> = {}, interval = '0.3'): RunningAgent {
  const file = join(folder, 'token');
  const args = ['--server', gateway.url, '--machine-id', '1165a9b6', '--pool', 'gpu', '--interval', interval];
  return bundle.start([...args, '--token-file', file], env);
}
const putToken = (token: string) => writeFileSync(join(folder, 'token'), `${token}\n`);

describe('its token', () => {
  it('is read again after a refusal, and the one that is there then is used', async () => {
    putToken('old-token');
    gateway.token = 'old-token';
    const agent = start();
    await agent.says('ready');
    gateway.token = 'new-token';
    await agent.says('keepalive denied');
    // Unreadable, empty, and then good: only that counts.
    rmSync(join(folder, 'token'));
    await agent.says(/keepalive denied.*keepalive denied/s);
    putToken('');
    putToken('new-token');
    await agent.says(/token replaced.*registered.*ready/s);
    agent.signal('SIGTERM');
    expect(await agent.ended).toEqual({ code: 0, signal: null });
    expect(agent.stderr()).not.toMatch(/old-token|new-token/);
  });

  it('that was revoked permanently ends it with exit code 77; one that is wrong does not end it', async () => {
    putToken('the-token');
    const agent = start();
    await agent.says('ready');
    gateway.fault = 'denied';
    await agent.says(/failures=2/);
    gateway.fault = 'revoked';
    expect(await agent.ended).toEqual({ code: 77, signal: null });
    expect(agent.stderr()).toMatch(/error giving up .*exit_code=77/);
    expect(agent.stderr()).not.toContain('the-token');
  });

  it('as a credential of systemd ends it with exit code 75, so that a restart brings the new one', async () => {
    putToken('the-token');
    gateway.fault = 'denied';
    const agent = start({ CREDENTIALS_DIRECTORY: folder }, '0.1');
    expect(await agent.ended).toEqual({ code: 75, signal: null });
    expect(gateway.requests).toHaveLength(3);
  });

  it('--help has the exit codes', async () => {
    const agent = bundle.start(['--help']);
    await agent.ended;
    for (const code of [0, 64, 75, 77]) expect(agent.stdout()).toMatch(new RegExp(`^  ${code} +\\S`, 'm'));
  });
});

describe.skipIf(noPerl)('its manager', () => {
  let datagrams: Datagrams;
  const socket = () => join(folder, 'notify');
  beforeEach(async () => {
    datagrams = await receiveDatagrams(socket());
  });
  afterEach(() => datagrams.stop());
  const has = (text: string) =>
    expect.poll(datagrams.received, { timeout: 20_000, interval: 20 }).toContain(text);

  it('is notified when it is registered and not before, of what it does, and that it stops', async () => {
    putToken('the-token');
    await gateway.stop();
    const agent = start({ NOTIFY_SOCKET: socket() });
    await has('STATUS=registration failed');
    expect(datagrams.received().join()).not.toContain('READY=1');
    await gateway.start();
    await has('READY=1|STATUS=registered');
    await has('STATUS=ready');
    agent.signal('SIGTERM');
    expect(await agent.ended).toEqual({ code: 0, signal: null });
    expect(datagrams.received().at(-1)).toBe('STOPPING=1|STATUS=stopped');
    expect(datagrams.received().filter((text) => text.includes('READY=1'))).toHaveLength(1);
    expect(datagrams.received().join()).not.toContain('the-token');
    expect(agent.stderr()).not.toContain('not notified');
  });

  it('is fed while the server is away, and not while the agent hangs', async () => {
    putToken('the-token');
    const agent = start({ NOTIFY_SOCKET: socket(), WATCHDOG_USEC: '600000' });
    await agent.says('ready');
    await gateway.stop();
    await agent.says('keepalive failed');
    const fed = () => datagrams.received().filter((text) => text === 'WATCHDOG=1').length;
    const before = fed();
    await expect.poll(fed, { timeout: 20_000 }).toBeGreaterThan(before + 2);
    agent.signal('SIGSTOP');
    await sleep(300);
    const stopped = fed();
    await sleep(1_000);
    expect(fed()).toBe(stopped);
    agent.signal('SIGCONT');
    agent.signal('SIGTERM');
    expect((await agent.ended).code).toBe(0);
  });
});

const noAnalyze = spawnSync('systemd-analyze', ['--version']).status !== 0;

describe.skipIf(noAnalyze)('its unit', () => {
  it('is one that systemd takes without a remark', async () => {
    const agent = bundle.start(['install', '--server', gateway.url, '--machine-id', 'a1', '--pool', 'gpu']);
    await agent.ended;
    const file = join(folder, 'ingot-agent.service');
    writeFileSync(file, agent.stdout());
    const { status, stderr, stdout } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    });
    const about = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('ingot-agent.service'));
    expect(about).toEqual([]);
    expect(status).toBe(0);
    for (const line of [
      'Type=notify',
      'NotifyAccess=all',
      'WatchdogSec=300',
      'TimeoutStartSec=infinity',
      'Restart=always',
      'KillMode=mixed',
      'RestartPreventExitStatus=77',
    ])
      expect(agent.stdout().split('\n')).toContain(line);
  });
});
