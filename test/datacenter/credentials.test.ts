// @module-tag extended: src/connections looks credentials up; ipmi.test.ts uses them.
/**
 * Credentials of machines by reference, through a real server, a real BMC and a real sshd. The scan for secrets has a row for each
 * kind of source: one that is added without a row fails.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { credentialsConfiguration } from '../../src/connections/credential-source.ts';
import type { MachineSpecSchema } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { readConfiguration } from '../../src/server/settings/configuration.ts';
import { ended, runOf, step } from '../advice/scenario.ts';
import { fresh, phaseOf } from '../api/fleet.ts';
import { needs } from '../parts/debian-packages.ts';
import { everythingStored, formsOf } from '../parts/everything-stored.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';
import { VaultSimulator } from '../parts/vault/simulator.ts';
import { bmcFields } from './bmc-site.ts';

const programs = needs('ipmi', 'sshd');
const TIME_LIMIT = 120_000;
const SSH_KINDS = ['directory', 'vault'] as const;
const WRONG = 'Wrong-Sesame-4711';

let folder: string;
let bmc: IpmiBmc;
let sshd: Sshd;
let vault: VaultSimulator;
let server: TestServer;

const put = (name: string, text: string) => {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
};

/** By kind: where the login of a BMC is put for a machine, and a source of that kind. */
const SOURCES = {
  file: {
    given: () => ({ kind: 'file', path: join(folder, 'login') }),
    put: (_machineId: string, password: string) => void put('login', `${password}\n`),
  },
  env: {
    given: () => ({ kind: 'env', variable: 'INGOT_TEST_BMC_LOGIN' }),
    put: (_machineId: string, password: string) => void vi.stubEnv('INGOT_TEST_BMC_LOGIN', password),
  },
  directory: {
    given: () => ({ kind: 'directory', path: join(folder, 'machines') }),
    put: (machineId: string, password: string) =>
      void put(`machines/${machineId}`, JSON.stringify({ username: bmc.user, password })),
  },
  vault: {
    given: () => ({
      kind: 'vault',
      address: vault.url,
      path: 'bmc/{machine_id}',
      auth: { method: 'approle', role_id: vault.roleId, secret_id_file: put('secret-id', vault.secretId) },
    }),
    put: (machineId: string, password: string) =>
      void vault.put(`secret/data/bmc/${machineId}`, { username: bmc.user, password }),
  },
} as const;
type Kind = keyof typeof SOURCES;
const KINDS = Object.keys(SOURCES) as Kind[];

beforeAll(async () => {
  if (programs.isMissing) return;
  folder = mkdtempSync(join(tmpdir(), 'ingot-references-'));
  mkdirSync(join(folder, 'machines'));
  [bmc, sshd, vault] = await Promise.all([startBmc(), startSshd(), VaultSimulator.start()]);
  const { password_file: _unused, ...fields } = bmcFields(bmc);
  const ssh = { user: sshd.user, private_key_file: sshd.keyFile, insecure_accept_any: true };
  const credentials = credentialsConfiguration.parse({
    ...Object.fromEntries(KINDS.map((kind) => [kind, SOURCES[kind].given()])),
    'odd-login': { kind: 'file', path: join(folder, 'odd-login'), per_machine: true },
    'odd-key': { kind: 'file', path: join(folder, 'odd-key'), per_machine: true },
    'ssh-directory': { kind: 'directory', path: join(folder, 'machines'), file: '{machine_id}.key' },
    'ssh-vault': { ...SOURCES.vault.given(), path: 'ssh/{machine_id}' },
  });
  const { private_key_file: _file, ...keyless } = ssh;
  const providers = Object.fromEntries([
    ...KINDS.map((kind) => [
      `bmc-${kind}`,
      datacenterConfiguration.parse({ kind: 'datacenter', ssh, bmc: { ...fields, credentials: kind } }),
    ]),
    ...SSH_KINDS.map((kind) => [
      `ssh-${kind}`,
      datacenterConfiguration.parse({ kind: 'datacenter', ssh: { ...keyless, credentials: `ssh-${kind}` } }),
    ]),
  ]);
  server = await startTestServer({ providers, credentials });
}, TIME_LIMIT);
afterAll(async () => {
  await server?.stop();
  await Promise.all([bmc?.stop(), sshd?.stop(), vault?.stop()]);
  if (folder) rmSync(folder, { recursive: true });
  vi.unstubAllEnvs();
});

let last = '';

/** No two machines share a BMC or a host, so the one before gives up its own. */
async function register(
  provider: string,
  more: MessageInitShape<typeof MachineSpecSchema> = {},
): Promise<string> {
  if (last !== '')
    await server.machines.updateMachine({
      machine: { machineId: last, spec: {} },
      updateMask: { paths: ['spec.bmc_endpoint', 'spec.ssh_endpoint'] },
    });
  last = fresh('ref');
  const spec = { provider, bmcEndpoint: bmc.endpoint, sshEndpoint: sshd.endpoint, ...more };
  await server.machines.registerMachine({ machine: { machineId: last, spec } });
  return last;
}

const FROM_DISK = step({ case: 'netboot', value: { mode: 'DISK' } });
const COMMAND = step({ case: 'ssh', value: { command: 'true', repeatable: true } });

describe.skipIf(programs.isMissing)(programs.title('the login of a BMC'), () => {
  it.each(KINDS)(
    'from a source of kind %s is used at once, also when it was replaced, and is stored nowhere',
    async (kind) => {
      const machineId = await register(`bmc-${kind}`);
      SOURCES[kind].put(machineId, WRONG);
      const refused = await ended(server, await runOf(server, machineId, FROM_DISK));
      expect(refused.error?.code, refused.error?.message).toBe('AUTHENTICATION_FAILED');
      // What is known of a secret may be shared for a second.
      if (kind === 'vault') await sleep(1_100);
      SOURCES[kind].put(machineId, bmc.password);
      await server.admin.clearNeedsIntervention({ machineId, reason: 'rotated' });
      const done = await ended(server, await runOf(server, machineId, FROM_DISK));
      expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
      const secrets = [WRONG, bmc.password, vault.secretId, 'hvs.'];
      const stored = await everythingStored(server);
      expect(stored).toContain(machineId);
      const answers = JSON.stringify([done.steps, refused.error, refused.steps], (_key, value) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      expect(secrets.flatMap(formsOf).filter((form) => (stored + answers).includes(form))).toEqual([]);
    },
    TIME_LIMIT,
  );

  it('of another machine is not used', async () => {
    const machineId = await register('bmc-directory');
    const failed = await ended(server, await runOf(server, machineId, FROM_DISK));
    expect(failed.error).toMatchObject({ code: 'CREDENTIAL_UNREADABLE' });
    expect(failed.error?.message).toContain(`machines/${machineId}`);
  });

  it(
    'is waited for while a Vault is sealed',
    async () => {
      const machineId = await register('bmc-vault');
      SOURCES.vault.put(machineId, bmc.password);
      vault.fault = 'sealed';
      const operationId = await runOf(server, machineId, FROM_DISK);
      await vi.waitFor(
        async () =>
          expect((await server.operations.getOperation({ operationId })).steps[0]?.message).toContain(
            'waiting for the source of credentials',
          ),
        { timeout: 30_000, interval: 100 },
      );
      vault.fault = null;
      expect(phaseOf(await ended(server, operationId))).toBe('SUCCEEDED');
    },
    TIME_LIMIT,
  );
});

describe.skipIf(programs.isMissing)(programs.title('the key of a host'), () => {
  it.each(SSH_KINDS)(
    'from a source of kind %s is used at once and stored nowhere',
    async (kind) => {
      const machineId = await register(`ssh-${kind}`);
      const missing = await ended(server, await runOf(server, machineId, COMMAND));
      expect(missing.error).toMatchObject({ code: 'CREDENTIAL_UNREADABLE' });
      const key = readFileSync(sshd.keyFile, 'utf8');
      put(`machines/${machineId}.key`, key);
      vault.put(`secret/data/ssh/${machineId}`, { private_key: key });
      await server.admin.clearNeedsIntervention({ machineId, reason: 'put there' });
      const done = await ended(server, await runOf(server, machineId, COMMAND));
      expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
      const stored = await everythingStored(server);
      const lines = key.split('\n').filter((line) => line.length > 40);
      expect(lines.length).toBeGreaterThan(1);
      expect(lines.filter((line) => stored.includes(line))).toEqual([]);
    },
    TIME_LIMIT,
  );
});

describe.skipIf(programs.isMissing)(programs.title('a reference'), () => {
  it('is a row of the scan for every kind of source', () => {
    const kinds = /must be one of (.*)"/.exec(
      JSON.stringify(
        credentialsConfiguration.safeParse({ x: { kind: 'none' } }).error?.issues[0]?.message ?? '',
      ),
    );
    expect(kinds?.[1]?.split(', ').sort()).toEqual([...KINDS].sort());
  });

  it('of a single machine is the name of a source that machines may name', async () => {
    const [login, key] = ['Odd-Sesame-99', readFileSync(sshd.keyFile, 'utf8')];
    const refs = { bmcCredentialsRef: 'odd-login', sshCredentialsRef: 'odd-key' };
    const machineId = await register('bmc-directory', refs);
    put('odd-login', login);
    put('odd-key', key);
    const refused = await ended(server, await runOf(server, machineId, FROM_DISK));
    expect(refused.error?.code, refused.error?.message).toBe('AUTHENTICATION_FAILED');
    put('odd-login', JSON.stringify({ username: bmc.user, password: bmc.password }));
    await server.admin.clearNeedsIntervention({ machineId, reason: 'rotated' });
    for (const work of [FROM_DISK, COMMAND]) {
      const done = await ended(server, await runOf(server, machineId, work));
      expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
    }
    const stored = await everythingStored(server);
    expect(stored).toContain('odd-login');
    const secrets = [login, bmc.password, ...key.split('\n').filter((line) => line.length > 40)];
    expect(secrets.flatMap(formsOf).filter((form) => stored.includes(form))).toEqual([]);
  });

  it.each(['directory', 'nowhere'])('of a single machine to %s is refused at the start', async (name) => {
    const machineId = await register('bmc-directory', { bmcCredentialsRef: name });
    SOURCES.directory.put(machineId, bmc.password);
    const refused = await refusal(runOf(server, machineId, FROM_DISK));
    expect(refused.message).toContain(
      `names ${name}, which is no source of credentials that machines may name`,
    );
  });

  it.each(['../login', '/etc/shadow', 'Upper', 'a b'])('of a single machine is no path: %s', async (name) => {
    const machine = { machineId: fresh('ref'), spec: { bmcCredentialsRef: name } };
    expect(await refusal(server.machines.registerMachine({ machine }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('can not be set through the API: a machine’s id never leads out of its directory', async () => {
    for (const machineId of ['../login', '..%2flogin', '..'])
      expect(
        await refusal(
          server.machines.registerMachine({ machine: { machineId, spec: { provider: 'bmc-directory' } } }),
        ),
      ).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('to a source that does not exist stops the start', () => {
    const file = put(
      'config.yaml',
      `providers:\n  dc:\n    kind: datacenter\n    ssh: { user: root, private_key_file: ${sshd.keyFile}, insecure_accept_any: true }\n    bmc: { user: admin, credentials: nowhere }\n`,
    );
    expect(() => readConfiguration(file)).toThrow(
      'providers.dc.bmc.credentials: nowhere is not in credentials, which has none',
    );
  });
});
