/**
 * The agent under a real systemd: a user manager in its own mount namespace. Such a manager has neither DynamicUser nor
 * the sandbox, so those lines are left out; what is about notifying, watching and restarting is as the unit has it, with
 * shorter times. LoadCredential= is stood in for by a copy at each start, which is what it does.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMachine } from '../agents/calls.ts';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
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
  const putToken = (token: string, name = 'token') => writeFileSync(path(name), token);

  function systemctl(...args: string[]): string {
    const inside = ['-t', String(manager.pid), '-m', 'env', `XDG_RUNTIME_DIR=${path('run')}`];
    const { stdout } = spawnSync('nsenter', [...inside, 'systemctl', '--user', ...args], {
      encoding: 'utf8',
    });
    return stdout;
  }

  function shown(service = 'ingot-agent'): Record<string, string> {
    const names = 'ActiveState,StatusText,NRestarts,ExecMainStatus,MainPID';
    const lines = systemctl('show', service, '-p', names).trim().split('\n');
    return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
  }

  const becomes = (wanted: Readonly<Record<string, string>>, service = 'ingot-agent') =>
    expect.poll(() => shown(service), { timeout: 30_000, interval: 100 }).toMatchObject(wanted);

  /** What `install` prints for these settings. */
  async function unit(url: string, machineId: string, files: readonly string[]): Promise<string> {
    const args = ['--server', url, '--machine-id', machineId, '--pool', 'gpu', '--interval', '0.5'];
    const install = bundle.start(['install', ...args, ...files]);
    await install.ended;
    const credentials = path(`credentials/${machineId}`);
    mkdirSync(credentials, { recursive: true });
    const credential = (line: string) => {
      const [, name, file] = /^LoadCredential=([^:]+):(.+)$/.exec(line) ?? [];
      return [
        `Environment=CREDENTIALS_DIRECTORY=${credentials}`,
        `ExecStartPre=/bin/cp ${file} ${credentials}/${name}`,
      ];
    };
    return install
      .stdout()
      .split('\n')
      .filter((line) => !UNUSABLE.test(line))
      .flatMap((line) => (line.startsWith('LoadCredential=') ? credential(line) : [line]))
      .join('\n')
      .replace('RestartSec=10', 'RestartSec=1')
      .replace('WatchdogSec=300', 'WatchdogSec=4');
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ingot-systemd-'));
    mkdirSync(path('run/systemd/user'), { recursive: true });
    putToken('first-token');
    await gateway.start();
    const text = await unit(gateway.url, '1165a9b6', ['--token-file', path('token')]);
    writeFileSync(path('run/systemd/user/ingot-agent.service'), text);
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

  describe('with a server that has TLS', () => {
    let authority: TestAuthority;
    let server: TestServer;
    beforeAll(async () => {
      authority = testAuthority();
      const { cert, key } = authority.issue({ name: 'server', names: SERVER_NAMES, purpose: 'server' });
      const { caFile } = authority;
      server = await startTestServer({
        pools: ['gpu'],
        tls: { cert_file: cert, key_file: key, client_ca_file: caFile, caFile },
        certificates: [{ san: 'spiffe://acme/machine/*', role: 'agent', scope: '' }],
      });
    });
    afterAll(async () => {
      await server?.stop();
      authority?.remove();
    });

    async function install(service: string, machineId: string, files: readonly string[]): Promise<string> {
      const text = await unit(server.httpUrl, machineId, ['--ca-file', authority.caFile, ...files]);
      writeFileSync(path(`run/systemd/user/${service}.service`), text);
      systemctl('daemon-reload');
      systemctl('start', '--no-block', service);
      return text;
    }

    /** Where this version of systemd makes the state directories of a user's services. */
    const stateDir = () =>
      ['.local/state', '.config'].map((base) => path(`${base}/ingot-agent`)).find(existsSync) ?? '';

    it('verifies it by the CA of the unit, and keeps a rotated token in its StateDirectory', async () => {
      const { machineId, token } = await createMachine(server);
      await server.sql(
        `UPDATE agents SET token_issued_at = now() - interval '31 days' WHERE machine_id = $1`,
        [machineId],
      );
      putToken(token, 'old-token');
      const text = await install('ingot-agent-token', machineId, ['--token-file', path('old-token')]);
      expect(text).toContain('StateDirectory=ingot-agent\nStateDirectoryMode=0700\n');
      await becomes({ ActiveState: 'active', StatusText: 'ready' }, 'ingot-agent-token');
      const kept = () => readFileSync(join(stateDir(), 'machine-token'), 'utf8');
      await expect.poll(() => existsSync(join(stateDir(), 'machine-token')), { timeout: 20_000 }).toBe(true);
      expect(statSync(stateDir()).mode & 0o777).toBe(0o700);
      expect(statSync(join(stateDir(), 'machine-token')).mode & 0o777).toBe(0o600);
      expect(kept()).not.toContain(token);
      // The credential is the old token still, which the server no longer takes: the kept one lets the agent in.
      const isOldTaken = async () => {
        const [row] = await server.sql<{ taken: boolean }>(
          `SELECT token_hash = sha256(convert_to($2, 'UTF8')) AS taken FROM agents WHERE machine_id = $1`,
          [machineId, token],
        );
        return row?.taken;
      };
      await expect.poll(isOldTaken, { timeout: 20_000 }).toBe(false);
      const before = shown('ingot-agent-token').MainPID;
      systemctl('restart', '--no-block', 'ingot-agent-token');
      await expect
        .poll(() => shown('ingot-agent-token'), { timeout: 30_000, interval: 100 })
        .toSatisfy(({ MainPID, StatusText }) => MainPID !== before && StatusText === 'ready');
      systemctl('stop', 'ingot-agent-token');
    }, 120_000);

    it('gets in by its certificate, whose key is a credential', async () => {
      const { machineId } = await createMachine(server);
      const names = [`spiffe://acme/machine/${machineId}`];
      const { cert, key } = authority.issue({ name: 'agent', names, purpose: 'client' });
      const text = await install('ingot-agent-mtls', machineId, ['--cert-file', cert, '--key-file', key]);
      expect(text).not.toContain('machine-token');
      await becomes({ ActiveState: 'active', StatusText: 'ready' }, 'ingot-agent-mtls');
      systemctl('stop', 'ingot-agent-mtls');
    }, 60_000);
  });
});
