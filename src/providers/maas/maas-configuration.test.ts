import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newHostKey } from '../../hosts/host-key.ts';
import { maasConfiguration } from './maas-configuration.ts';

let dir: string;
const file = (name: string) => join(dir, name);
const VARIABLE = 'INGOT_TEST_MAAS_KEY';

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-maas-configuration-'));
  writeFileSync(file('key'), 'consumer:token:secret\n');
  writeFileSync(file('garbage'), 'no-key-at-all\n');
  writeFileSync(file('lines'), 'one\ntwo\n');
  writeFileSync(file('password'), 'pass word\n');
  process.env[VARIABLE] = 'consumer:token:secret';
});
afterAll(() => {
  delete process.env[VARIABLE];
  rmSync(dir, { recursive: true, force: true });
});

const given = (fields: Readonly<Record<string, unknown>> = {}) => ({
  kind: 'maas',
  url: 'http://maas.example.com:5240/MAAS',
  api_key_file: file('key'),
  ...fields,
});

/** As the server reports it: the first problem, in one line. */
function problemWith(fields: Readonly<Record<string, unknown>>): string | null {
  const issue = maasConfiguration.safeParse(given(fields)).error?.issues[0];
  return issue ? `${issue.path.join('.')}: ${issue.message}` : null;
}

describe('is fine', () => {
  it('with the URL of MAAS and its API key, and has defaults for the rest', () => {
    expect(maasConfiguration.parse(given())).toMatchObject({
      request_timeout_seconds: 30,
      concurrency: 8,
      architecture: 'amd64/generic',
      deploy: { osystem: 'ubuntu', distro_series: 'noble', hardware_sync: true },
      storage: { boot_disk_model: 'BOSS' },
    });
  });

  it('with the key in the environment', () => {
    expect(problemWith({ api_key_file: undefined, api_key_env: VARIABLE })).toBeNull();
  });

  it.each([
    { type: 'ipmi', user: 'admin', password_file: 'password' },
    { type: 'redfish', user: 'admin', password_file: 'password' },
    { type: 'manual' },
  ])('with power of type $type', (power) => {
    const at = 'password_file' in power ? { password_file: file('password') } : {};
    expect(problemWith({ power: { ...power, ...at } })).toBeNull();
  });
});

describe('is refused', () => {
  it.each<[string, Record<string, unknown>, RegExp]>([
    ['a URL with a user', { url: 'http://me:pw@maas/MAAS' }, /^url: must be an http/],
    ['another scheme', { url: 'ftp://maas/MAAS' }, /^url: must be an http/],
    ['two keys', { api_key_env: VARIABLE }, /needs exactly one of api_key_file and api_key_env/],
    ['no key', { api_key_file: undefined }, /needs exactly one of api_key_file and api_key_env/],
    ['an unknown field', { api_key: 'a:b:c' }, /api_key/],
    ['a user that no MAAS could have', { username: 'a b' }, /username: must be the name of a user/],
    ['an architecture without a flavour', { architecture: 'amd64' }, /must be like amd64\/generic/],
    ['power without a password', { power: { type: 'ipmi', user: 'a' } }, /power: needs exactly one of/],
  ])('%s', (_name, fields, problem) => {
    expect(problemWith(fields)).toMatch(problem);
  });

  it('a file that holds no key, without quoting what it holds', () => {
    const problem = problemWith({ api_key_file: file('garbage') });
    expect(problem).toMatch(/^api_key_file: .*holds no API key/);
    expect(problem).not.toContain('no-key-at-all');
  });

  it('files that are not there, or hold something else', () => {
    expect(problemWith({ api_key_file: file('nowhere') })).toMatch(/^api_key_file: .*ENOENT/);
    expect(problemWith({ ca_file: file('key') })).toMatch(/^ca_file: .*no PEM certificate/);
    expect(problemWith({ deploy: { user_data_template: file('nowhere') } })).toMatch(
      /^deploy.user_data_template: .*ENOENT/,
    );
    const power = { type: 'ipmi', user: 'admin', password_file: file('lines') };
    expect(problemWith({ power })).toMatch(/^power.password_file: .*more than one line/);
  });
});

describe('ssh', () => {
  const ssh = (fields: Readonly<Record<string, unknown>> = {}) => {
    writeFileSync(file('ssh-key'), newHostKey().privateKey);
    return { user: 'ubuntu', private_key_file: file('ssh-key'), ...fields };
  };

  it('needs no known hosts: deployments bring their keys', () => {
    expect(problemWith({ ssh: ssh() })).toBeNull();
    expect(problemWith({ ssh: ssh({ known_hosts_file: file('lines') }) })).toBeNull();
    expect(problemWith({ ssh: ssh({ insecure_accept_any: true }) })).toBeNull();
  });

  it('verifies hosts, or does not, and needs a key that can be read', () => {
    const both = { known_hosts_file: file('lines'), insecure_accept_any: true };
    expect(problemWith({ ssh: ssh(both) })).toMatch(/^ssh: needs at most one of known_hosts_file/);
    expect(problemWith({ ssh: { user: 'ubuntu' } })).toMatch(/^ssh: needs exactly one of private_key_file/);
    expect(problemWith({ ssh: ssh({ private_key_file: file('garbage') }) })).toMatch(
      /^ssh.private_key_file: .* holds no private key/,
    );
  });
});
