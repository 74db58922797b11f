import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ANY_ADDRESS } from '../../test/parts/any-address.ts';
import { SERVER_NAMES, testAuthority } from '../../test/parts/certificates.ts';
import { VaultSimulator } from '../../test/parts/vault/simulator.ts';
import { sampleMachine } from '../domain/machine/machine.fixture.ts';
import { createCredentialSources, credentialsConfiguration, sourceOfMachine } from './credential-source.ts';

let folder: string;
let clock = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-credentials-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const put = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

function sourceOf(given: Readonly<Record<string, unknown>>) {
  const configuration = credentialsConfiguration.parse({ bmcs: given });
  const sources = createCredentialSources(configuration, {
    rule: ANY_ADDRESS.servers,
    monotonicNow: () => clock,
  });
  const signal = new AbortController().signal;
  return (machineId = 'm-1') => {
    const machine = { ...sampleMachine(), machineId };
    const source = sources.get('bmcs');
    if (!source) throw new Error('no source');
    return source.read(machine, signal);
  };
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable(),
    (error) => error.failure,
  );

describe('a credential is read where it is used', () => {
  it('from a file, as it is now', async () => {
    const read = sourceOf({ kind: 'file', path: put('one', 'first\n') });
    expect(await read()).toMatchObject({ password: 'first', user: null });
    put('one', '{"username": "root", "password": "second"}');
    expect(await read()).toMatchObject({ password: 'second', user: 'root' });
    rmSync(join(folder, 'one'));
    expect(await failureOf(read())).toMatchObject({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE' });
  });

  it('from a variable of the environment', async () => {
    const read = sourceOf({ kind: 'env', variable: 'INGOT_TEST_BMC' });
    vi.stubEnv('INGOT_TEST_BMC', 'from-env');
    expect(await read()).toMatchObject({ password: 'from-env' });
    vi.unstubAllEnvs();
    expect(await failureOf(read())).toMatchObject({ code: 'CREDENTIAL_UNREADABLE' });
  });

  it('from the file of the machine in a directory', async () => {
    mkdirSync(join(folder, 'bmc'));
    put('bmc/m-1.json', '{"password": "of m-1"}');
    put('bmc/m-2.json', '-----BEGIN OPENSSH PRIVATE KEY-----\n');
    const read = sourceOf({ kind: 'directory', path: join(folder, 'bmc'), file: '{machine_id}.json' });
    expect(await read('m-1')).toMatchObject({ password: 'of m-1' });
    expect(await read('m-2')).toMatchObject({ password: null, privateKey: expect.stringContaining('BEGIN') });
    expect(await failureOf(read('m-3'))).toMatchObject({ code: 'CREDENTIAL_UNREADABLE' });
  });

  it.each(['../one', '..', '.', 'a/../../one', '.hidden', ''])(
    'and no machine id leads out of the directory: %s',
    async (machineId) => {
      put('one', 'secret');
      const read = sourceOf({ kind: 'directory', path: join(folder, 'bmc') });
      const failure = await failureOf(read(machineId));
      expect(failure).toMatchObject({ code: 'CREDENTIAL_UNREADABLE' });
      expect(failure.message).toContain('looked up by {machine_id}');
    },
  );

  it('whose text is wrong is not quoted', async () => {
    const read = sourceOf({ kind: 'file', path: put('broken', '{"password": "Sesame-77') });
    const failure = await read().catch((error: unknown) => error);
    expect(inspect(failure, { depth: 9 })).not.toContain('Sesame-77');
  });

  it.each(['../x', '/etc/shadow', 'a//b', '{hostname}', 'a b'])('a template %s is refused', (file) => {
    expect(() => sourceOf({ kind: 'directory', path: '/etc', file })).toThrow();
  });
});

describe('a Vault', () => {
  let vault: VaultSimulator;
  const approle = () => ({
    kind: 'vault',
    address: vault.url,
    path: 'bmc/{machine_id}',
    timeout_seconds: 1,
    auth: { method: 'approle', role_id: vault.roleId, secret_id_file: put('secret-id', vault.secretId) },
  });

  beforeEach(async () => {
    clock = 0;
    vault = await VaultSimulator.start({ leaseSeconds: 60, now: () => clock });
    vault.put('secret/data/bmc/m-1', { username: 'admin', password: 'from vault' });
  });
  afterEach(() => vault.stop());

  it('is asked with a token of an AppRole, which is used again and renewed', async () => {
    const read = sourceOf(approle());
    expect(await read()).toMatchObject({ user: 'admin', password: 'from vault' });
    clock = 5_000;
    await read();
    expect([vault.logins, vault.renewals]).toEqual([1, 0]);
    clock = 45_000;
    await read();
    expect([vault.logins, vault.renewals]).toEqual([1, 1]);
    clock = 500_000;
    await read();
    expect([vault.logins, vault.renewals]).toEqual([2, 1]);
    expect(vault.requests.slice(0, 2)).toEqual(['POST auth/approle/login', 'GET secret/data/bmc/m-1']);
  });

  it('gives a password that was replaced at once, and is asked once by those that ask together', async () => {
    const read = sourceOf(approle());
    await Promise.all([read(), read(), read()]);
    expect(vault.requests.filter((request) => request.startsWith('GET'))).toHaveLength(1);
    vault.put('secret/data/bmc/m-1', { password: 'rotated' });
    clock = 1_001;
    expect(await read()).toMatchObject({ password: 'rotated', user: null });
  });

  it('that revoked our token gets a new login; a replaced secret id is read then', async () => {
    const read = sourceOf(approle());
    await read();
    vault.revokeTokens();
    vault.secretId = 'another';
    put('secret-id', 'another\n');
    clock = 2_000;
    expect(await read()).toMatchObject({ password: 'from vault' });
    expect(vault.logins).toBe(2);
  });

  it('takes a token from a file, a namespace, and another mount', async () => {
    await vault.stop();
    vault = await VaultSimulator.start({ namespace: 'dc/ams', now: () => clock });
    vault.put('kv/infra/data/bmc/m-1', { password: 'in a namespace' });
    const auth = { method: 'token', token_file: put('token', `${vault.rootToken}\n`) };
    const given = { ...approle(), auth, namespace: 'dc/ams', mount: 'kv/infra' };
    const read = sourceOf(given);
    expect(await read()).toMatchObject({ password: 'in a namespace' });
    vault.rootToken = 'hvs.rotated';
    clock = 2_000;
    expect(await failureOf(read())).toMatchObject({ code: 'CREDENTIAL_UNREADABLE' });
    put('token', 'hvs.rotated');
    expect(await read()).toMatchObject({ password: 'in a namespace' });
  });

  it.each([
    ...(['sealed', 'standby', 'no_leader', 'performance_standby', 'disaster_recovery'] as const),
    ...(['not_consistent', 'overloaded', 'upstream', 'broken', 'slow'] as const),
  ])('that is %s is asked again later', async (fault) => {
    const read = sourceOf(approle());
    vault.fault = fault;
    expect(await failureOf(read())).toMatchObject({
      class: 'retryable',
      code: 'CREDENTIAL_SOURCE_UNAVAILABLE',
    });
    vault.fault = null;
    expect(await read()).toMatchObject({ password: 'from vault' });
    expect(vault.requests.join()).not.toContain('169.254');
  });

  it('that is not there is asked again later', async () => {
    const read = sourceOf(approle());
    await vault.stop();
    expect(await failureOf(read())).toMatchObject({
      code: 'CREDENTIAL_SOURCE_UNAVAILABLE',
      message: 'bmcs is not reachable (connection refused)',
    });
    vault = await VaultSimulator.start();
  });

  it.each([
    ['a path that is not there', {}, 'm-2', 'has no secret bmc/m-2'],
    ['a policy that denies', { fault: 'denied' }, 'm-1', 'does not accept our AppRole'],
    ['a wrong secret id', { secretId: 'x' }, 'm-1', 'does not accept our AppRole'],
    ['an invalid answer', { fault: 'not_json' }, 'm-1', 'gave no token'],
    ['an answer without an end', { fault: 'too_large' }, 'm-1', 'gave an answer that is too large'],
  ])('with %s is a failure for a person', async (_case, changes, machineId, words) => {
    const read = sourceOf(approle());
    Object.assign(vault, changes);
    const failure = await failureOf(read(machineId));
    expect(failure).toMatchObject({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE' });
    expect(failure.message).toContain(words);
  });

  it('leaves nothing of token, secret id or secret in an error', async () => {
    const read = sourceOf(approle());
    await read();
    vault.put('secret/data/bmc/m-1', { password: { nested: 'Sesame-99' } });
    clock = 2_000;
    const error = await read().catch((one: unknown) => one);
    expect(inspect(error, { depth: 9 })).toContain('password is not a text');
    for (const secret of ['Sesame-99', vault.secretId, 'hvs.'])
      expect(inspect(error, { depth: 9 })).not.toContain(secret);
  });

  it('whose secret was deleted or destroyed says so; one that is brought back, or written again, counts', async () => {
    const read = sourceOf(approle());
    const engine = vault.engine('secret');
    const next = () => {
      clock += 1_001;
      return read();
    };
    engine.delete('bmc/m-1');
    expect(await failureOf(next())).toMatchObject({
      code: 'CREDENTIAL_UNREADABLE',
      message: 'bmcs has no secret bmc/m-1 any more: it was deleted (version 1)',
    });
    engine.undelete('bmc/m-1', [1]);
    expect(await next()).toMatchObject({ password: 'from vault' });
    engine.destroy('bmc/m-1', [1]);
    expect((await failureOf(next())).message).toContain('it was destroyed (version 1)');
    engine.write('bmc/m-1', { password: 'second' });
    expect(await next()).toMatchObject({ password: 'second' });
  });

  it('whose tokens can not be renewed, or not for longer, gets a new login', async () => {
    await vault.stop();
    vault = await VaultSimulator.start({ leaseSeconds: 60, maxLeaseSeconds: 90, now: () => clock });
    vault.put('secret/data/bmc/m-1', { password: 'from vault' });
    const read = sourceOf(approle());
    for (clock of [0, 45_000, 80_000, 100_000, 300_000])
      expect(await read()).toMatchObject({ password: 'from vault' });
    expect(vault.logins).toBeGreaterThan(1);
    await vault.stop();
    vault = await VaultSimulator.start({ leaseSeconds: 60, renewable: 'no', now: () => clock });
    vault.put('secret/data/bmc/m-1', { password: 'from vault' });
    const again = sourceOf(approle());
    for (const laterMs of [0, 45_000, 45_000]) {
      clock += laterMs;
      await again();
    }
    expect(vault.renewals).toBe(0);
    expect(vault.logins).toBe(3);
  });

  it('is asked for what the policy of its role allows, at the mount of its AppRole', async () => {
    await vault.stop();
    vault = await VaultSimulator.start({
      approleMount: 'machines',
      policy: ['secret/data/bmc/m-1'],
      now: () => clock,
    });
    for (const id of ['m-1', 'm-2']) vault.put(`secret/data/bmc/${id}`, { password: id });
    const given = approle();
    const read = sourceOf({ ...given, auth: { ...given.auth, mount: 'machines' } });
    expect(await read()).toMatchObject({ password: 'm-1' });
    expect((await failureOf(read('m-2'))).message).toBe('bmcs does not allow to read bmc/m-2');
    expect((await failureOf(sourceOf(given)())).message).toBe('bmcs has no AppRole at auth/approle');
  });

  it('that a machine gives no part of the path to is a failure for a person', async () => {
    const read = sourceOf({ ...approle(), path: 'bmc/{serial}' });
    expect(await failureOf(read())).toMatchObject({ code: 'CREDENTIAL_UNREADABLE' });
  });

  it('over TLS is trusted by its CA file, which is read for each use', async () => {
    const [own, other] = [testAuthority(), testAuthority()];
    try {
      const { cert, key } = own.issue({ name: 'vault', names: [...SERVER_NAMES], purpose: 'server' });
      await vault.stop();
      vault = await VaultSimulator.start({ tls: { cert: readFileSync(cert), key: readFileSync(key) } });
      vault.put('secret/data/bmc/m-1', { password: 'over TLS' });
      const caFile = put('vault-ca.pem', other.ca.toString());
      const read = sourceOf({ ...approle(), ca_file: caFile });
      const failure = await failureOf(read());
      expect(failure).toMatchObject({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE' });
      expect(failure.message).toContain('has a certificate that no authority we trust has signed');
      expect(vault.requests).toEqual([]);
      expect((await failureOf(sourceOf(approle())())).message).toContain('certificate');
      put('vault-ca.pem', own.ca.toString());
      expect(await read()).toMatchObject({ password: 'over TLS' });
    } finally {
      for (const authority of [own, other]) authority.remove();
    }
  });
});

describe('a machine that names its own source', () => {
  const sources = () =>
    createCredentialSources(
      credentialsConfiguration.parse({
        usual: { kind: 'file', path: put('usual', 'usual password') },
        odd: { kind: 'file', path: put('odd', 'odd password'), per_machine: true },
      }),
      { rule: ANY_ADDRESS.servers, monotonicNow: () => clock },
    );
  const machine = (bmc: string) => {
    const sample = sampleMachine();
    return { ...sample, spec: { ...sample.spec, bmc_credentials_ref: bmc } };
  };

  it('gets it, and the others get that of their provider, or its one login', async () => {
    const { signal } = new AbortController();
    const sourceFor = sourceOfMachine(sources(), 'bmc_credentials_ref', 'usual');
    expect(await sourceFor(machine('odd'))?.read(machine('odd'), signal)).toMatchObject({
      password: 'odd password',
    });
    expect(await sourceFor(machine(''))?.read(machine(''), signal)).toMatchObject({
      password: 'usual password',
    });
    const alone = sourceOfMachine(sources(), 'bmc_credentials_ref', undefined);
    expect(alone(machine(''))).toBeNull();
    expect(alone(machine('odd'))).not.toBeNull();
    expect(sourceOfMachine(sources(), 'ssh_credentials_ref', undefined)(machine('odd'))).toBeNull();
  });

  it.each(['usual', 'nowhere'])('is refused where machines may not name it: %s', (name) => {
    const sourceFor = sourceOfMachine(sources(), 'bmc_credentials_ref', 'usual');
    expect(() => sourceFor(machine(name))).toThrow(
      `names ${name}, which is no source of credentials that machines may name`,
    );
  });
});
