import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { datacenterConfiguration } from './datacenter-configuration.ts';

let dir: string;
const file = (name: string) => join(dir, name);
const VARIABLE = 'INGOT_TEST_SSH_KEY';

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-datacenter-configuration-'));
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = { type: 'pkcs1', format: 'pem' } as const;
  writeFileSync(file('key'), privateKey.export(pem));
  writeFileSync(file('public'), openSshKey(publicKey));
  writeFileSync(file('locked'), privateKey.export({ ...pem, cipher: 'aes-256-cbc', passphrase: 'sesame' }));
  writeFileSync(file('passphrase'), 'sesame\n');
  writeFileSync(file('garbage'), 'no key at all\n');
  writeFileSync(file('empty'), '');
  writeFileSync(file('known_hosts'), '# none yet\n');
  process.env[VARIABLE] = String(privateKey.export(pem));
});
afterAll(() => {
  delete process.env[VARIABLE];
  rmSync(dir, { recursive: true, force: true });
});

/** "ssh-rsa AAAA…": three fields, each with its length before it. */
function openSshKey(key: KeyObject): string {
  const { e = '', n = '' } = key.export({ format: 'jwk' });
  const fields = [
    Buffer.from('ssh-rsa'),
    Buffer.from(e, 'base64url'),
    Buffer.concat([Buffer.alloc(1), Buffer.from(n, 'base64url')]),
  ];
  const blob = fields.flatMap((field) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(field.length);
    return [length, field];
  });
  return `ssh-rsa ${Buffer.concat(blob).toString('base64')} operator\n`;
}

const ssh = (fields: Readonly<Record<string, unknown>>) => ({
  user: 'root',
  private_key_file: file('key'),
  known_hosts_file: file('known_hosts'),
  ...fields,
});

/** As the server reports it: the first problem, in one line. */
function problemWith(fields: Readonly<Record<string, unknown>>): string | null {
  const { error } = datacenterConfiguration.safeParse({ kind: 'datacenter', ssh: ssh(fields) });
  const issue = error?.issues[0];
  return issue ? `${issue.path.join('.')}: ${issue.message}` : null;
}

describe('is fine', () => {
  it.each([
    ['with a key in a file', () => ({})],
    ['with a key in a variable', () => ({ private_key_file: undefined, private_key_env: VARIABLE })],
    ['with a passphrase', () => ({ private_key_file: file('locked'), passphrase_file: file('passphrase') })],
    [
      'without known hosts when configured so',
      () => ({ known_hosts_file: undefined, insecure_accept_any: true }),
    ],
    ['with a jump host', () => ({ jump: { host: 'bastion.example:2222', user: 'hop' } })],
  ])('%s', (_how, fields) => {
    expect(problemWith(fields())).toBeNull();
  });

  it('and has defaults', () => {
    const { ssh: read } = datacenterConfiguration.parse({ kind: 'datacenter', ssh: ssh({}) });
    expect(read).toMatchObject({ connect_timeout_seconds: 10, keepalive_seconds: 15 });
  });
});

describe('is refused with the field named', () => {
  it.each([
    [
      'no key',
      { private_key_file: undefined },
      'ssh: needs exactly one of private_key_file and private_key_env',
    ],
    [
      'two keys',
      { private_key_env: VARIABLE },
      'ssh: needs exactly one of private_key_file and private_key_env',
    ],
    ['a file that is not there', { private_key_file: '/nowhere/key' }, "can't be read (ENOENT)"],
    [
      'a variable that is not set',
      { private_key_file: undefined, private_key_env: 'NOT_SET' },
      'NOT_SET is not set',
    ],
    ['a passphrase that is not there', { passphrase_file: '/nowhere/phrase' }, "can't be read (ENOENT)"],
    ['no say about host keys', { known_hosts_file: undefined }, 'exactly one of known_hosts_file'],
    ['both says about host keys', { insecure_accept_any: true }, 'exactly one of known_hosts_file'],
    ['accepting any host key by halves', { insecure_accept_any: false }, 'ssh.insecure_accept_any: '],
    [
      'known hosts that are not there',
      { known_hosts_file: '/nowhere' },
      'ssh.known_hosts_file: /nowhere can',
    ],
    ['an unknown field', { pasword: 'x' }, 'Unrecognized key'],
    ['a user who is an option', { user: '-oProxyCommand=x' }, "ssh.user: must be a user's name"],
    ['a jump host without a host', { jump: { user: 'hop' } }, 'ssh.jump.host: '],
    [
      'a jump host’s key that is not there',
      { jump: { host: 'bastion', user: 'hop', private_key_file: '/nowhere/key' } },
      'ssh.jump.private_key_file: /nowhere/key can',
    ],
  ])('%s', (_what, fields, words) => {
    const problem = problemWith(fields);
    expect(problem).toContain(words);
    expect(problem).not.toContain('\n');
  });

  it.each([
    ['garbage', 'ssh.private_key_file: ', 'holds no private key that can be parsed'],
    ['empty', 'ssh.private_key_file: ', 'is empty'],
    ['public', 'ssh.private_key_file: ', 'holds a public key'],
    ['locked', 'ssh.private_key_file: ', 'is encrypted and needs the right passphrase_file'],
  ])('a key file that is %s', (name, path, words) => {
    const problem = problemWith({ private_key_file: file(name) });
    expect(problem).toContain(path);
    expect(problem).toContain(words);
  });

  it('a wrong passphrase', () => {
    const fields = { private_key_file: file('locked'), passphrase_file: file('garbage') };
    expect(problemWith(fields)).toContain('is encrypted and needs the right passphrase_file');
  });
});

describe('a section bmc', () => {
  const bmc = (fields: Readonly<Record<string, unknown>>) =>
    datacenterConfiguration.safeParse({
      kind: 'datacenter',
      ssh: ssh({}),
      bmc: { user: 'admin', password_file: file('passphrase'), ...fields },
    });

  it('has defaults', () => {
    expect(bmc({}).data?.bmc).toMatchObject({
      cipher_suite: 3,
      privilege: 'administrator',
      timeout_seconds: 10,
      boot: { persistent: false, efi: false, ignore_valid_bit: false, patience_seconds: 900 },
    });
  });

  it.each([
    ['no password', { password_file: undefined }, 'bmc: needs exactly one of password_file and password_env'],
    ['two passwords', { password_env: VARIABLE }, 'bmc: needs exactly one of password_file and password_env'],
    ['a file that is not there', { password_file: '/nowhere' }, "bmc.password_file: /nowhere can't be read"],
    [
      'a password of several lines',
      { password_file: undefined, password_env: VARIABLE },
      `bmc.password_env: the environment variable ${VARIABLE} has more than one line`,
    ],
    ['the password itself', { password: 'secret' }, 'Unrecognized key'],
    ['a cipher suite that encrypts nothing', { cipher_suite: 0 }, 'bmc.cipher_suite: '],
    ['a user of several words', { user: 'a b' }, "bmc.user: must be a user's name"],
    ['an invalid network', { allowed_networks: ['10.0.0.0/33'] }, 'bmc.allowed_networks.0: must be'],
    ['no network at all', { allowed_networks: [] }, 'bmc.allowed_networks: '],
  ])('is refused with %s', (_what, fields, words) => {
    const issue = bmc(fields).error?.issues[0];
    const problem = `${issue?.path.join('.')}: ${issue?.message}`;
    expect(problem).toContain(words);
    expect(problem).not.toContain('PRIVATE KEY');
  });

  it('is refused with a password that IPMI can not carry, where it has IPMI alone', () => {
    writeFileSync(file('long'), 'x'.repeat(21));
    expect(bmc({ password_file: file('long') }).success).toBe(true);
    const issue = bmc({ password_file: file('long'), protocol: 'ipmi' }).error?.issues[0];
    expect(issue?.message).toContain('has more than the 20 bytes that IPMI can use');
  });
});
