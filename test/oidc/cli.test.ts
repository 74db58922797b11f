// @module-tag extended: code-flow.test.ts and bearer.test.ts use the same issuer; this signs in from a terminal.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { oidcConfiguration } from '../../src/surfaces/access/oidc/oidc-configuration.ts';
import { launch, type Run, type Surrounding } from '../cli/harness.ts';
import { startIssuer, type TestIssuer } from '../parts/issuer.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { Visitor } from '../parts/visitor.ts';

let issuer: TestIssuer;
let server: TestServer;
let home: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'ingot-test-home-'));
  issuer = await startIssuer();
  const oidc = oidcConfiguration.parse([
    {
      name: 'corp',
      issuer: issuer.url,
      client_id: 'ingot-console',
      cli_client_id: 'ingot-cli',
      mappings: [
        { claim: 'groups', value: 'fleet-ops', role: 'operator' },
        { claim: 'groups', value: 'acme', role: 'viewer', scope: 'customer_id=acme' },
      ],
    },
  ]);
  server = await startTestServer({ configuration: { oidc } });
});
afterAll(async () => {
  await server?.stop();
  await issuer?.stop();
  rmSync(home, { recursive: true, force: true });
});

const file = () => join(home, '.config/ingot/credentials.json');
const stored = () => JSON.parse(readFileSync(file(), 'utf8')).profiles;

/** Without a token, and without a server unless the line names one. */
function start(line: string, around: Surrounding = {}) {
  const env = { HOME: home, INGOT_TOKEN: '', INGOT_SERVER: '', ...around.env };
  return launch('', line, { ...around, env });
}
const run = (line: string, around?: Surrounding): Promise<Run> => start(line, around).ended;
const at = () => `--server ${server.grpcAddress} --http-url ${server.httpUrl}`;

async function signIn(name: string, line: string): Promise<Run> {
  const login = start(line);
  const url = await until(
    async () => /^Open (\S+)$/m.exec(login.stderr.text)?.[1] ?? '',
    (found) => found !== '',
  );
  expect(login.stderr.text).toMatch(/and confirm the code [A-Z]{4}-[A-Z]{4}/);
  await new Visitor().signInAt(url, name);
  return login.ended;
}

describe('ingot login', () => {
  test('signs in at the issuer of the server, into a file that only its owner can read', async () => {
    const { code, stderr } = await signIn('alice', `login ${at()}`);
    expect(stderr).toContain(
      `signed in to grpc://${server.grpcAddress} as corp:alice (operator), profile default`,
    );
    expect(code).toBe(0);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, '.config/ingot')).mode & 0o777).toBe(0o700);
    const { code: listed } = await run('list');
    expect(listed).toBe(0);
  });

  test('finds the HTTP port by the gRPC port, before there is a token', async () => {
    const login = start(`login --profile found --server ${server.grpcAddress}`);
    await until(
      async () => login.stderr.text,
      (text) => /^Open \S+$/m.test(text),
    );
    login.signals.emit('SIGINT');
    await login.ended;
  });

  test('whoami says name, role, scope, way in and expiry', async () => {
    const { stdout } = await run('whoami');
    expect(stdout).toMatch(
      /^name +corp:alice\nrole +operator\nscope +the whole fleet\nvia +oidc\nexpires +20/,
    );
    expect(stdout).toContain('token    from the profile default');
    const { stdout: json } = await run('whoami -o json');
    expect(JSON.parse(json)).toMatchObject({ name: 'corp:alice', role: 'operator', via: 'oidc' });
  });

  test('keeps several profiles, and each has its own server, role and scope', {
    tags: ['extended'],
  }, async () => {
    const { stderr } = await signIn('bob', `login --profile acme ${at()}`);
    expect(stderr).toContain('as corp:bob (viewer, scope customer_id=acme), profile acme');
    expect((await run('whoami --profile acme')).stdout).toMatch(/scope +customer_id=acme/);
    expect((await run('whoami', { env: { INGOT_PROFILE: 'acme' } })).stdout).toContain('corp:bob');
    expect((await run('whoami')).stdout).toContain('corp:alice');
    expect((await run('whoami --profile other')).stderr).toContain('there is no profile other');
  });

  test('renews the token before it expires, once for commands that run side by side', async () => {
    const before = stored().default.credentials;
    const now = () => (before.expires_at - 10) * 1000;
    const runs = await Promise.all([run('whoami', { now }), run('list', { now })]);
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, expect.any(String)],
    ]);
    const after = stored().default.credentials;
    expect(after.refresh_token).not.toBe(before.refresh_token);
    expect((await run('whoami')).stdout).toContain('corp:alice');
    expect(existsSync(`${file()}.lock`)).toBe(false);
  });

  test('stores a token from the standard input, which is not shown', async () => {
    const { secret } = await server.admin.createToken({ name: 'for-lab', role: 'viewer' });
    const { code, stderr, stdout } = await run(`login --token --profile lab ${at()}`, {
      input: `${secret}\n`,
    });
    expect([code, stdout + stderr]).toEqual([0, expect.not.stringContaining(secret)]);
    expect((await run('whoami --profile lab')).stdout).toMatch(/name +for-lab/);
    expect((await run(`login --token ${at()}`, { input: 'nonsense' })).code).not.toBe(0);
    expect(stored().default.credentials.client_id).toBe('ingot-cli');
  });

  test('sends no token to another server', async () => {
    const other = await startTestServer();
    try {
      const asked = await run(`whoami --profile acme --server ${other.grpcAddress}`);
      expect([asked.code, asked.stderr]).toEqual([64, expect.stringContaining('is not sent to')]);
      const unasked = await run(`whoami --server ${other.grpcAddress}`, { cwd: home });
      expect(unasked.code).not.toBe(0);
      expect(unasked.stderr).not.toContain('the profile default');
    } finally {
      await other.stop();
    }
  });

  test('a flag and INGOT_TOKEN win over a profile that was not asked for', async () => {
    const token = server.adminToken;
    const tokenFile = join(home, 'token');
    writeFileSync(tokenFile, token);
    expect((await run(`whoami --token-file ${tokenFile} ${at()}`)).stdout).toMatch(/role +admin/);
    expect((await run(`whoami ${at()}`, { env: { INGOT_TOKEN: token } })).stdout).toMatch(/role +admin/);
    expect((await run('whoami --profile acme', { env: { INGOT_TOKEN: token } })).stdout).toContain(
      'corp:bob',
    );
  });

  test('does not use a file that others can read', async () => {
    chmodSync(file(), 0o644);
    const { code, stderr } = await run('whoami');
    chmodSync(file(), 0o600);
    expect([code, stderr]).toEqual([
      64,
      expect.stringContaining('can be read by others (mode 0644): chmod 600'),
    ]);
  });
});

describe('ingot logout', () => {
  test('forgets the profile, and the issuer its refresh token', async () => {
    const { credentials } = stored().acme;
    const { code, stderr } = await run('logout --profile acme');
    expect([code, stderr]).toEqual([0, expect.stringContaining('signed out of grpc://')]);
    expect(Object.keys(stored())).toEqual(['default', 'lab']);
    const answer = await fetch(`${issuer.url}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: 'ingot-cli',
        refresh_token: credentials.refresh_token,
      }),
    });
    expect(await answer.json()).toMatchObject({ error: 'invalid_grant' });
    expect((await run('logout --profile acme')).stderr).toContain(
      'there is no profile acme; there are: default, lab',
    );
  });

  test('warns when the issuer is down, and forgets the tokens all the same', async () => {
    await issuer.goDown();
    const { code, stderr } = await run('logout --all');
    await issuer.comeBack();
    expect([code, stderr]).toEqual([0, expect.stringContaining('still valid at the issuer')]);
    expect(stored()).toEqual({});
  });

  test('a login while the issuer is down says so', async () => {
    await issuer.goDown();
    const { code, stderr } = await run(`login ${at()}`);
    await issuer.comeBack();
    expect(code).toBe(4);
    expect(stderr).toContain(`the issuer ${issuer.url} can't be used: `);
  });
});
