import { cpus, hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../parts/until.ts';
import { type RunningAgent, useAgentBundle } from './agent-process.ts';
import { type Fault, Gateway } from './gateway.ts';

const TOKEN = 'machine-token-0123456789abcdef';
const bundle = useAgentBundle();
let gateway: Gateway;

beforeEach(async () => {
  gateway = new Gateway();
  await gateway.start();
});
afterEach(() => gateway.stop());

/** The waits after a failure follow the interval, so a short one makes all of it short. */
function start(interval: string, ...more: string[]): RunningAgent {
  const args = ['--server', gateway.url, '--machine-id', '1165a9b6', '--pool', 'gpu', '--interval', interval];
  return bundle.start([...args, ...more], { INGOT_MACHINE_TOKEN: TOKEN });
}

/** The words of the log, without time and details. */
const events = (agent: RunningAgent): string[] =>
  agent
    .stderr()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^\S+ (\S+) +/, '$1 ').replace(/ \w+=.*/, ''));

/** Under load a process takes its time, but far less than what it was waiting for. */
async function endsPromptly(agent: RunningAgent, signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<void> {
  const sentAt = performance.now();
  agent.signal(signal);
  expect(await agent.ended).toEqual({ code: 0, signal: null });
  expect(performance.now() - sentAt).toBeLessThan(5000);
  expect(agent.stdout()).toBe('');
  expect(events(agent).at(-1)).toBe('info stopped');
  expect(agent.stderr()).not.toContain(TOKEN);
}

describe('an agent', () => {
  it('registers, becomes ready and keeps alive, with four lines in all', async () => {
    const agent = start('0.1');
    await until(() => gateway.sent('keepalive').length >= 5);
    await endsPromptly(agent);
    expect(events(agent)).toEqual(['info started', 'info registered', 'info ready', 'info stopped']);
    expect(gateway.sent('register')).toHaveLength(1);
    expect(gateway.requests[0]?.path).toBe('/api/v1/machine/register');
  });

  it('sends the fields that docs/agents.md lists', async () => {
    const agent = start('0.1', '--private-ip', '10.1.2.3');
    await until(() => gateway.sent('keepalive').length >= 1);
    const [registration] = gateway.sent('register');
    expect(registration).toMatchObject({ authorization: `Bearer ${TOKEN}`, contentType: 'application/json' });
    expect(registration?.body).toEqual({
      token: TOKEN,
      machine_id: '1165a9b6',
      hostname: hostname(),
      provider_name: 'generic',
      pool_name: 'gpu',
      cpu: `${cpus().length * 1000}m`,
      memory: expect.stringMatching(/^[1-9]\d*Ki$/),
      gpu_count: expect.stringMatching(/^\d+$/),
      private_ip: '10.1.2.3',
      boot_id: expect.stringMatching(/^[\da-f-]{36}$/),
      uptime_seconds: expect.any(Number),
    });
    const [keepalive] = gateway.sent('keepalive');
    expect(keepalive).toMatchObject({ authorization: `Bearer ${TOKEN}`, contentType: 'application/json' });
    expect(keepalive?.body).toEqual({
      machine_id: '1165a9b6',
      provider_name: 'generic',
      pool_name: 'gpu',
      agent_version: expect.stringMatching(/^\d+\.\d+\.\d+\S*-node$/),
      metrics: expect.objectContaining({
        cpu_utilization_pct: expect.any(Number),
        memory_utilization_pct: expect.any(Number),
        total_cpu_available: cpus().length * 1000,
        total_memory_available: expect.any(Number),
        total_disk_space_bytes: expect.any(Number),
        total_disk_free_bytes: expect.any(Number),
      }),
    });
    await endsPromptly(agent);
  });

  it('registers again when the server reports that it has expired', async () => {
    const agent = start('0.1');
    await agent.says('ready');
    gateway.forgetEverybody();
    await agent.says(/re-registering [^\n]*Machine state expired.*registered.*ready/s);
    await endsPromptly(agent);
    expect(gateway.sent('register')).toHaveLength(2);
  });

  it('waits for a server that is away, longer and longer, and finds it when it is back', {
    tags: ['extended'],
  }, async () => {
    await gateway.stop();
    const agent = start('1');
    await agent.says(/registration failed .*ECONNREFUSED.* failures=4/);
    await gateway.start();
    await agent.says('ready');
    await gateway.stop();
    await agent.says(/keepalive failed .*ECONNREFUSED/);
    await gateway.start();
    await agent.says('keepalive accepted again');
    await endsPromptly(agent);
    expect(gateway.sent('register')).toHaveLength(1);
  });

  it.each<[Fault, string, RegExp]>([
    ['failing', 'warn registration failed', /answered 500: Failed to register machine/],
    ['garbage', 'warn registration failed', /not with a JSON object: <html>Welcome/],
    ['dropping', 'warn registration failed', /socket hang up/],
    ['denied', 'error registration denied', /answered 403: Invalid token.*the token is not valid/],
    ['unresponsive', 'warn registration failed', /no answer within 0.3 s/],
    ['echoing', 'warn registration failed', /Bearer \[token\]/],
  ])('survives a server that is %s', { tags: ['extended'] }, async (fault, event, reason) => {
    gateway.fault = fault;
    const agent = start('0.3', '--timeout', '0.3', '--log-level', 'debug');
    await agent.says('failures=2');
    expect(agent.stderr()).toMatch(reason);
    expect(events(agent)).toContain(event);
    gateway.fault = undefined;
    await agent.says('ready');
    gateway.fault = fault;
    await agent.says(/keepalive (?:failed|denied)/);
    await endsPromptly(agent);
  });

  it('has no second request under way, however long the first takes', { tags: ['extended'] }, async () => {
    gateway.fault = 'unresponsive';
    const agent = start('0.05', '--timeout', '0.3');
    await until(() => gateway.requests.length >= 6);
    // The server may notice the end of one request only with the next.
    expect(gateway.mostAtOnce).toBeLessThanOrEqual(2);
    await endsPromptly(agent);
  });

  it('retries slowly when its token is refused', async () => {
    gateway.fault = 'denied';
    const agent = start('60');
    await agent.says('registration denied');
    const [, wait] = /retry_in=([\d.]+)s/.exec(agent.stderr()) ?? [];
    expect(Number(wait)).toBeGreaterThanOrEqual(5);
    await endsPromptly(agent);
    expect(gateway.requests).toHaveLength(1);
  });
});

describe('SIGTERM and SIGINT', () => {
  it('stop it while it waits for the next keepalive', async () => {
    const agent = start('3600');
    await agent.says('ready');
    await endsPromptly(agent, 'SIGINT');
  });

  it('stop it while it waits for a server that is away', async () => {
    await gateway.stop();
    const agent = start('3600');
    await agent.says('registration failed');
    await endsPromptly(agent);
  });

  it('stop it while a request hangs', async () => {
    gateway.fault = 'unresponsive';
    const agent = start('60', '--timeout', '300');
    await until(() => gateway.requests.length === 1);
    await endsPromptly(agent);
  });
});

describe('a setting that is wrong or missing', () => {
  const required = ['--machine-id', '1165a9b6', '--pool', 'gpu'];
  it.each([
    [[...required, '--token-file', 'none'], /^ingot-agent: --server: is missing: /],
    [['--server', 'http://127.0.0.1:1', '--pool', 'gpu'], /^ingot-agent: --machine-id: is missing: /],
    [['--server', 'http://127.0.0.1:1', ...required], /^ingot-agent: --token-file: is missing: /],
    [['--server', 'ftp://x', ...required], /^ingot-agent: --server: is not an http/],
    [
      ['--server', 'http://127.0.0.1:1', ...required, '--interval', 'often'],
      /^ingot-agent: --interval: "often" /,
    ],
  ])('%j is one line, and exit code 64', async (args, line) => {
    const agent = bundle.start(args);
    expect(await agent.ended).toEqual({ code: 64, signal: null });
    expect(agent.stderr()).toMatch(line);
    expect(agent.stderr().trimEnd()).not.toContain('\n');
  });

  it('an unknown option is exit code 64 too', async () => {
    const agent = bundle.start(['--sever', 'x']);
    expect((await agent.ended).code).toBe(64);
    expect(agent.stderr()).toContain("unknown option '--sever'");
  });
});
