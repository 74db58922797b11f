// @module-tag extended: api-v1/ssh-command.test.ts runs commands over the same sshd.
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StepFailure } from '../../src/engine/step-handler.ts';
import { needs } from '../parts/debian-packages.ts';
import { freePort } from '../parts/free-port.ts';
import { createKey, type Sshd, startSshd } from '../parts/sshd.ts';
import { until } from '../parts/until.ts';
import { callFor, createSite, failureOf, machineAt, type Site } from './site.ts';

const programs = needs('sshd');

describe.skipIf(programs.isMissing)(programs.title('a command on a host'), () => {
  let sshd: Sshd;
  let site: Site;
  let dir: string;
  const at = () => machineAt(sshd.endpoint);
  const run = (command: string, stdin?: string) => {
    const call = callFor(at());
    const asked = stdin === undefined ? { command } : { command, stdin };
    return site.can.remoteExec.run(call, asked).then((end) => ({ ...end, lines: call.lines }));
  };

  beforeAll(async () => {
    sshd = await startSshd();
    dir = mkdtempSync(join(tmpdir(), 'ingot-remote-exec-'));
  });
  beforeEach(() => {
    site = createSite(sshd);
  });
  afterEach(async () => {
    site.remove();
    await until(() => sshd.connections() === 0);
  });
  afterAll(async () => {
    await sshd.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it.each([0, 3, 127])('that exits with %i is reported as such, and is no error', async (code) => {
    expect((await run(`exit ${code}`)).exitCode).toBe(code);
  });

  it('that is killed counts as a shell counts it', async () => {
    expect((await run('kill -KILL $$')).exitCode).toBe(137);
  });

  it('has its two outputs kept apart, line by line, and the first one returned', async () => {
    const { stdout, lines } = await run('echo one; echo two >&2; printf three');
    expect(stdout).toBe('one\nthree');
    expect(lines.filter(({ stream }) => stream === 'stdout').map(({ text }) => text)).toEqual([
      '$ echo one; echo two >&2; printf three',
      'one',
      'three',
    ]);
    expect(lines.filter(({ stream }) => stream === 'stderr').map(({ text }) => text)).toEqual(['two']);
  });

  it('that is asked quietly leaves nothing in the log', async () => {
    const call = callFor(at());
    const { stdout } = await site.can.remoteExec.run(call, {
      command: 'echo seen; echo err >&2',
      quiet: true,
    });
    expect(stdout).toBe('seen\n');
    expect(call.lines).toEqual([]);
  });

  it('reads what it is given, which is neither logged nor on a command line', async () => {
    const { stdout, lines } = await run(
      'cat | tr a-z A-Z | rev; cat /proc/self/cmdline | tr "\\0" " "',
      's3cret',
    );
    expect(stdout).toContain('TERC3S');
    expect(stdout).not.toContain('s3cret');
    expect(JSON.stringify(lines)).not.toContain('s3cret');
  });

  it('that is given nothing sees the end of its input at once', async () => {
    expect((await run('cat; echo over')).stdout).toBe('over\n');
  });

  it('reads a long input whole, also when it prints all the while', { tags: ['extended'] }, async () => {
    const text = 'x'.repeat(3_000_000);
    expect((await run('tee /dev/stderr | wc -c', text)).stdout.trim()).toBe('3000000');
  });

  it('may print without end: lines are cut, the answer is bounded, nothing is lost from the log', async () => {
    const { stdout, lines } = await run('head -c 300000 /dev/zero | tr "\\0" y; echo; echo done');
    expect(stdout.length).toBeLessThan(65 * 1024);
    expect(stdout).toMatch(/^y+\n… 234,470 bytes left out …\ny+\ndone\n$/);
    expect(Math.max(...lines.map(({ text }) => text.length))).toBe(4096);
    expect(
      lines.filter(({ text }) => text.startsWith('y')).reduce((sum, { text }) => sum + text.length, 0),
    ).toBe(300_000);
    expect(lines.at(-1)?.text).toBe('done');
  });

  it('that leaves a background process ends nevertheless', { tags: ['extended'] }, async () => {
    const startedAt = performance.now();
    expect((await run('sleep 15 & echo left')).stdout).toBe('left\n');
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    sshd.losePower();
  });

  it('runs when the one before it on that host is over', async () => {
    const file = join(dir, 'turns');
    const one = (name: string) => run(`echo ${name}-in >> ${file}; sleep 0.2; echo ${name}-out >> ${file}`);
    await Promise.all([one('a'), one('b'), one('c')]);
    expect(readFileSync(file, 'utf8').trim().split('\n')).toEqual([
      'a-in',
      'a-out',
      'b-in',
      'b-out',
      'c-in',
      'c-out',
    ]);
  });

  it('ends at once when it is stopped, on the host too', async () => {
    const stop = new AbortController();
    const file = join(dir, 'stopped');
    const call = callFor(at(), { signal: stop.signal });
    const running = site.can.remoteExec.run(call, {
      command: `echo $$ > ${file}; sleep 60; echo late >> ${file}`,
    });
    await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '');
    const startedAt = performance.now();
    stop.abort(new Error('stopped by the test'));
    await expect(running).rejects.toThrow('stopped by the test');
    expect(performance.now() - startedAt).toBeLessThan(500);
    const pid = readFileSync(file, 'utf8').trim();
    await until(() => !existsSync(`/proc/${pid}`));
  });

  it('that waits for its turn can be stopped, and does not hold up those behind it', async () => {
    const stop = new AbortController();
    const first = run('sleep 0.5; echo first');
    const second = site.can.remoteExec.run(callFor(at(), { signal: stop.signal }), {
      command: 'echo second',
    });
    const third = run('echo third');
    stop.abort(new Error('stopped by the test'));
    await expect(second).rejects.toThrow('stopped by the test');
    expect((await first).stdout).toBe('first\n');
    expect((await third).stdout).toBe('third\n');
  });

  it('is not started when it was stopped before', async () => {
    const call = callFor(at(), { signal: AbortSignal.abort(new Error('stopped by the test')) });
    await expect(site.can.remoteExec.run(call, { command: 'true' })).rejects.toThrow('stopped by the test');
  });

  it('is not started by a replica that lost the operation while it waited', async () => {
    const file = join(dir, 'not-held');
    const checkHeld = () => {
      throw new Error('no longer ours');
    };
    const call = callFor(at(), { checkHeld });
    await expect(site.can.remoteExec.run(call, { command: `touch ${file}` })).rejects.toThrow(
      'no longer ours',
    );
    expect(existsSync(file)).toBe(false);
  });

  it('whose connection breaks has an unknown effect', async () => {
    const file = join(dir, 'broken');
    const running = failureOf(run(`touch ${file}; sleep 60`));
    await until(() => existsSync(file));
    sshd.losePower();
    expect(await running).toMatchObject({ class: 'effect_unknown', code: 'CONNECTION_LOST' });
  });

  describe('is refused', () => {
    it('where there is no address', async () => {
      const failure = await failureOf(site.can.remoteExec.run(callFor(machineAt('')), { command: 'true' }));
      expect(failure).toMatchObject({ class: 'permanent', code: 'NO_SSH_ENDPOINT' });
    });

    it('where nothing listens, and may be tried again', async () => {
      const closedPort = machineAt(`127.0.0.1:${await freePort()}`);
      const failure = await failureOf(site.can.remoteExec.run(callFor(closedPort), { command: 'true' }));
      expect(failure).toMatchObject({ class: 'retryable', code: 'UNREACHABLE' });
      expect(failure.message).toContain('connection refused');
    });

    it('where the name is not known, and may be tried again', async () => {
      const failure = await failureOf(
        site.can.remoteExec.run(callFor(machineAt('host.invalid')), { command: 'true' }),
      );
      expect(failure).toMatchObject({ class: 'retryable', code: 'UNREACHABLE' });
    });

    it('where the host has another key than the known one', async () => {
      createKey(join(dir, 'other-host-key'), 'ed25519');
      const [type, blob] = readFileSync(join(dir, 'other-host-key.pub'), 'utf8').split(' ');
      writeFileSync(site.knownHostsFile, `[127.0.0.1]:${sshd.port} ${type} ${blob}\n`);
      const failure = await failureOf(run('true'));
      expect(failure).toMatchObject({ class: 'needs_human', code: 'HOST_KEY_MISMATCH' });
      expect(failure.message).toMatch(/SHA256:\S+, is not the one that is known of this host/);
    });

    it('where the host is not among the known ones, until it is added', async () => {
      writeFileSync(site.knownHostsFile, '# no host yet\n');
      const failure = await failureOf(run('true'));
      expect(failure).toMatchObject({ class: 'needs_human', code: 'HOST_KEY_MISMATCH' });
      expect(failure.message).toContain('not among the known hosts');
      writeFileSync(site.knownHostsFile, `${sshd.knownHostsLine}\n`);
      expect((await run('exit 0')).exitCode).toBe(0);
    });

    it('where the same machine is known at another port only', async () => {
      writeFileSync(site.knownHostsFile, `127.0.0.1 ${sshd.hostKey}\n`);
      expect(await failureOf(run('true'))).toMatchObject({ code: 'HOST_KEY_MISMATCH' });
    });

    it('where the known hosts are gone', async () => {
      rmSync(site.knownHostsFile);
      expect(await failureOf(run('true'))).toMatchObject({
        class: 'needs_human',
        code: 'KNOWN_HOSTS_UNREADABLE',
      });
    });

    it('where our key is not let in; after three times the host is left alone for a while', async () => {
      let now = 0;
      createKey(join(dir, 'stranger'), 'ed25519');
      const keyFile = join(dir, 'stranger');
      const stranger = createSite({ ...sshd, keyFile }, { monotonicNow: () => now });
      const attempt = () => failureOf(stranger.can.remoteExec.run(callFor(at()), { command: 'true' }));
      const knocks = () => sshd.log().split('Connection from 127.0.0.1').length;
      for (let count = 1; count <= 3; count++) {
        expect(await attempt()).toMatchObject({ class: 'needs_human', code: 'AUTHENTICATION_FAILED' });
      }
      const before = knocks();
      expect(before).toBeGreaterThan(3);
      const left = await attempt();
      expect(left).toMatchObject({ class: 'needs_human', code: 'AUTHENTICATION_FAILED' });
      expect(left.message).toContain('not asked again for 300 s');
      expect(knocks()).toBe(before);
      now += 301_000;
      expect((await attempt()).message).toContain('does not accept our key');
      await until(() => knocks() === before + 1);
      // Another key is another question.
      copyFileSync(sshd.keyFile, keyFile);
      const { exitCode } = await stranger.can.remoteExec.run(callFor(at()), { command: 'exit 0' });
      expect(exitCode).toBe(0);
      stranger.remove();
    });
  });

  describe('to something that is no sshd', () => {
    let server: Server;
    const sockets = new Set<Socket>();
    const listen = async (greet: (socket: Socket) => void) => {
      server = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
        greet(socket);
      });
      const port = await freePort();
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      return machineAt(`127.0.0.1:${port}`);
    };
    afterEach(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });

    it.each([
      ['that says nothing', (_socket: Socket) => {}, 'no SSH handshake in time'],
      [
        'that hangs up',
        (socket: Socket): void => void socket.destroy(),
        'closed the connection before the SSH handshake',
      ],
      [
        'that answers in HTTP',
        (socket: Socket): void => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
        '',
      ],
    ] as const)('%s may be tried again', { tags: ['extended'] }, async (_name, greet, words) => {
      const failure = await failureOf(
        site.can.remoteExec.run(callFor(await listen(greet)), { command: 'true' }),
      );
      expect(failure).toMatchObject({ class: 'retryable', code: 'UNREACHABLE' });
      expect(failure.message).toContain(words);
    });

    it('can be stopped while it is waited for', async () => {
      const machine = await listen(() => {});
      const startedAt = performance.now();
      const call = callFor(machine, { signal: AbortSignal.timeout(200) });
      await expect(site.can.remoteExec.run(call, { command: 'true' })).rejects.toThrow();
      expect(performance.now() - startedAt).toBeLessThan(1_000);
    });
  });

  it('works with a key that needs a passphrase, and with any host key when configured so', {
    tags: ['extended'],
  }, async () => {
    const keyFile = join(dir, 'locked');
    createKey(keyFile, 'ed25519', 'open sesame');
    const authorized = join(sshd.keyFile, '..', 'authorized_keys');
    writeFileSync(authorized, readFileSync(`${keyFile}.pub`), { flag: 'a' });
    vi.stubEnv('INGOT_TEST_PASSPHRASE', 'open sesame');
    const open = createSite(
      { ...sshd, keyFile },
      {
        ssh: {
          passphrase_env: 'INGOT_TEST_PASSPHRASE',
          known_hosts_file: undefined,
          insecure_accept_any: true,
        },
      },
    );
    const startedAt = performance.now();
    const { exitCode } = await open.can.remoteExec.run(callFor(at()), { command: 'exit 0' });
    expect(exitCode).toBe(0);
    // The key was opened when the configuration was read; to open it again would hold everything up.
    expect(performance.now() - startedAt).toBeLessThan(1_500);
    open.remove();
  });
});

describe.skipIf(programs.isMissing)(programs.title('a host with several keys'), () => {
  it('is asked for the one that is known of it', { tags: ['extended'] }, async () => {
    const sshd = await startSshd({ hostKeyType: 'rsa', config: [] });
    const site = createSite(sshd);
    const call = callFor(machineAt(sshd.endpoint));
    expect((await site.can.remoteExec.run(call, { command: 'exit 0' })).exitCode).toBe(0);
    site.remove();
    await sshd.stop();
  });
});

describe.skipIf(programs.isMissing)(programs.title('a probe of a host'), () => {
  const probe = async (site: Site, endpoint: string) =>
    site.can.inspect.host(machineAt(endpoint), new AbortController().signal);

  it('reports whether the host accepts connections', async () => {
    const sshd = await startSshd();
    const site = createSite(sshd);
    expect(await probe(site, sshd.endpoint)).toMatchObject({ ok: true, reason: 'ConnectOK' });
    expect(await probe(site, `127.0.0.1:${await freePort()}`)).toMatchObject({
      ok: false,
      reason: 'ConnectRefused',
    });
    expect(await probe(site, '')).toMatchObject({ ok: false, reason: 'NoEndpoint' });
    expect(await probe(site, 'host.invalid')).toMatchObject({ ok: false, reason: 'NameNotFound' });
    expect(await site.can.inspect.bmc(machineAt(''), new AbortController().signal)).toBeNull();
    site.remove();
    await sshd.stop();
  });

  it('has a time limit', { tags: ['extended'] }, async () => {
    const sshd = await startSshd();
    const site = createSite(sshd, { ssh: { connect_timeout_seconds: 1 } });
    // A listener whose queue is full: connecting to it neither succeeds nor fails.
    const full = await fullListener();
    const startedAt = performance.now();
    expect(await probe(site, full.endpoint)).toMatchObject({ ok: false, reason: 'ConnectTimeout' });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    full.close();
    site.remove();
    await sshd.stop();
  });
});

describe.skipIf(programs.isMissing)(programs.title('a jump host'), () => {
  let jump: Sshd;
  let sshd: Sshd;
  let site: Site;

  beforeAll(async () => {
    jump = await startSshd();
    sshd = await startSshd({ env: { BEHIND: 'the-jump' } });
  });
  beforeEach(() => {
    site = createSite(
      { ...sshd, knownHostsLine: `${sshd.knownHostsLine}\n${jump.knownHostsLine}` },
      { ssh: { jump: { host: jump.endpoint, user: jump.user, private_key_file: jump.keyFile } } },
    );
  });
  afterEach(() => site.remove());
  afterAll(async () => {
    await jump.stop();
    await sshd.stop();
  });

  const run = (command: string, endpoint = sshd.endpoint) =>
    site.can.remoteExec.run(callFor(machineAt(endpoint)), { command });

  it('is used, with one login for all commands that run through it at that time', async () => {
    const logins = () => jump.log().split('Accepted publickey').length - 1;
    const before = logins();
    const ends = await Promise.all([1, 2, 3].map(() => run('echo $BEHIND $SSH_CONNECTION')));
    for (const { stdout } of ends) expect(stdout).toContain(`the-jump 127.0.0.1`);
    expect(logins()).toBe(before + 1);
  });

  it('reports what it could not reach', async () => {
    const closedPort = `127.0.0.1:${await freePort()}`;
    expect(await failureOf(run('true', closedPort))).toMatchObject({
      class: 'retryable',
      code: 'UNREACHABLE',
    });
    const { signal } = new AbortController();
    expect(await site.can.inspect.host(machineAt(closedPort), signal)).toMatchObject({
      ok: false,
      reason: 'ConnectRefused',
    });
    expect(await site.can.inspect.host(machineAt(sshd.endpoint), signal)).toMatchObject({ ok: true });
  });

  it('that breaks while a command runs leaves its effect unknown, and is opened again for the next', async () => {
    const file = join(site.knownHostsFile, '..', 'runs');
    const running = failureOf(run(`touch ${file}; sleep 60`));
    await until(() => existsSync(file));
    jump.losePower();
    expect(await running).toMatchObject({ class: 'effect_unknown' });
    expect((await run('echo again')).stdout).toBe('again\n');
  });

  it.each([10, 40, 80, 120, 200])(
    'that breaks %i ms after it was needed delays no caller',
    { tags: ['extended'] },
    async (ms) => {
      const running = run('exit 0').then(
        () => 'over',
        (error: StepFailure) => error.failure.class,
      );
      await sleep(ms);
      jump.losePower();
      expect(['over', 'retryable', 'effect_unknown']).toContain(await running);
    },
  );

  it('that has another host key is not trusted', async () => {
    writeFileSync(site.knownHostsFile, `${sshd.knownHostsLine}\n[127.0.0.1]:${jump.port} ${sshd.hostKey}\n`);
    expect(await failureOf(run('true'))).toMatchObject({ class: 'needs_human', code: 'HOST_KEY_MISMATCH' });
  });
});

async function fullListener(): Promise<{ readonly endpoint: string; close(): void }> {
  const { spawn } = await import('node:child_process');
  const { connect } = await import('node:net');
  const port = await freePort();
  const code = `import socket,time
s=socket.socket(); s.bind(("127.0.0.1",${port})); s.listen(0); print("up",flush=True); time.sleep(60)`;
  const child = spawn('python3', ['-c', code], { stdio: ['ignore', 'pipe', 'ignore'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const fillers = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await sleep(300);
  return {
    endpoint: `127.0.0.1:${port}`,
    close: () => {
      for (const filler of fillers) filler.destroy();
      child.kill('SIGKILL');
    },
  };
}
