import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANY_ADDRESS } from '../../test/parts/any-address.ts';
import { createAuthority } from '../../test/parts/kubernetes/certificates.ts';
import { clustersConfiguration } from './cluster-configuration.ts';
import { createClusters } from './clusters.ts';

let dir: string;
let ca: string;
let client: { readonly certificateFile: string; readonly keyFile: string };
const file = (name: string) => join(dir, name);

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-cluster-configuration-'));
  const authority = createAuthority(dir);
  ca = authority.caFile;
  client = authority.issue('ingot', 'client');
  writeFileSync(file('token'), 'abc.def\n');
  writeFileSync(file('two-words'), 'abc def\n');
  writeFileSync(file('garbage'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(file('other-key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const given = (fields: Readonly<Record<string, unknown>>) => ({
  server: 'https://10.0.0.1:6443',
  ca_file: ca,
  token_file: file('token'),
  ...fields,
});

function problemWith(fields: Readonly<Record<string, unknown>>): string | null {
  const { error } = clustersConfiguration.safeParse({ 'cluster-a': given(fields) });
  const issue = error?.issues[0];
  return issue ? `${issue.path.join('.')}: ${issue.message}` : null;
}

describe('a cluster’s configuration', () => {
  it('is fine with a token, or with a certificate and its key', () => {
    const { certificateFile, keyFile } = client;
    const certificate = { client_certificate_file: certificateFile, client_key_file: keyFile };
    expect(problemWith({})).toBeNull();
    expect(problemWith({ token_file: undefined, ...certificate })).toBeNull();
  });

  it.each([
    [
      'a server without TLS',
      () => ({ server: 'http://10.0.0.1' }),
      'cluster-a.server: must be an https:// URL',
    ],
    ['a server with a password', () => ({ server: 'https://u:p@10.0.0.1' }), 'cluster-a.server: must be'],
    ['no CA', () => ({ ca_file: undefined }), 'cluster-a.ca_file: '],
    [
      'a CA that is not there',
      () => ({ ca_file: '/nowhere' }),
      "cluster-a.ca_file: /nowhere can't be read (ENOENT)",
    ],
    ['an invalid CA', () => ({ ca_file: file('token') }), 'holds no PEM certificate'],
    ['a CA that is broken', () => ({ ca_file: file('garbage') }), 'that can’t be parsed'.replace('’', "'")],
    ['no credentials', () => ({ token_file: undefined }), 'cluster-a: needs exactly one of token_file'],
    ['two credentials', () => ({ token_env: 'X' }), 'cluster-a: needs exactly one of token_file'],
    [
      'a token that is not there',
      () => ({ token_file: '/nowhere' }),
      "cluster-a.token_file: /nowhere can't be read",
    ],
    ['a token of two words', () => ({ token_file: file('two-words') }), 'holds no bearer token'],
    [
      'a token in a variable that is not set',
      () => ({ token_file: undefined, token_env: 'NOT_SET' }),
      'cluster-a.token_env: the environment variable NOT_SET is not set',
    ],
    [
      'a certificate without its key',
      () => ({ token_file: undefined, client_certificate_file: client.certificateFile }),
      'cluster-a.client_key_file: is missing',
    ],
    [
      'the key of another certificate',
      () => ({
        token_file: undefined,
        client_certificate_file: client.certificateFile,
        client_key_file: file('other-key'),
      }),
      'is not the key of',
    ],
    ['an unknown field', () => ({ token: 'abc' }), 'Unrecognized key'],
  ])('is refused with %s', (_what, fields, words) => {
    const problem = problemWith(fields());
    expect(problem).toContain(words);
    expect(problem).not.toContain('\n');
  });
});

describe('a host that joins gets', () => {
  const cluster = (fields: Readonly<Record<string, unknown>>) =>
    createClusters(
      clustersConfiguration.parse({ 'cluster-a': given(fields) }),
      () => 0,
      ANY_ADDRESS.servers,
    ).get('cluster-a');

  it.each([
    ['the server’s address', {}, '10.0.0.1:6443'],
    ['its usual port', { server: 'https://api.example' }, 'api.example:443'],
    ['another address where there is one', { join_endpoint: '[fd00::1]:6443' }, '[fd00::1]:6443'],
  ])('%s', (_what, fields, endpoint) => {
    expect(cluster(fields)?.joinEndpoint).toBe(endpoint);
  });

  it('how to know the CA, as openssl would compute it', async () => {
    const { execFileSync } = await import('node:child_process');
    const key = execFileSync('openssl', ['x509', '-pubkey', '-noout', '-in', ca]);
    const der = execFileSync('openssl', ['pkey', '-pubin', '-outform', 'der'], { input: key });
    const hash = execFileSync('openssl', ['dgst', '-sha256', '-r'], { input: der }).toString().split(' ')[0];
    expect(cluster({})?.caCertHashes).toEqual([`sha256:${hash}`]);
  });
});
