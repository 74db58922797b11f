// @module-tag extended: both-ports.test.ts has the server; this has each flag.
/** The command line and a server with TLS: what it trusts, for gRPC and for HTTP calls. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch } from '../cli/harness.ts';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

let authority: TestAuthority;
let stranger: TestAuthority;
let server: TestServer;

beforeAll(async () => {
  authority = testAuthority();
  stranger = testAuthority();
  const { cert, key } = authority.issue({ name: 'server', names: SERVER_NAMES, purpose: 'server' });
  server = await startTestServer({ tls: { cert_file: cert, key_file: key, caFile: authority.caFile } });
});
afterAll(async () => {
  await server?.stop();
  authority?.remove();
  stranger?.remove();
});

const run = (line: string, env: Record<string, string> = {}, address = server.grpcAddress) =>
  launch(address, line, {
    env: { INGOT_TOKEN: server.adminToken, INGOT_HTTP_URL: server.httpUrl, ...env },
  }).ended;

/** One command of each API. */
describe.each(['list', 'image list'])('ingot %s', (line) => {
  test('trusts the authority of INGOT_CA_FILE, and then an address means TLS', async () => {
    expect(await run(line, { INGOT_CA_FILE: authority.caFile })).toMatchObject({ code: 0 });
  });

  test('trusts that of --ca-file, which wins', async () => {
    const env = { INGOT_CA_FILE: stranger.caFile };
    expect(await run(`${line} --ca-file ${authority.caFile}`, env)).toMatchObject({ code: 0 });
  });

  test.each(['grpcs', 'https'])('takes %s://, by name and by address', async (scheme) => {
    const env = { INGOT_CA_FILE: authority.caFile };
    const named = server.grpcAddress.replace('127.0.0.1', 'localhost');
    expect(await run(line, env, `${scheme}://${named}`)).toMatchObject({ code: 0 });
    expect(await run(line, env, `${scheme}://${server.grpcAddress}`)).toMatchObject({ code: 0 });
  });

  test('refuses a server of another authority, and names what helps', async () => {
    const { code, stderr } = await run(line, { INGOT_CA_FILE: stranger.caFile });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: the server at \S+ can't be used: its certificate is of an authority that is not trusted here; name the CA of the server with --ca-file or INGOT_CA_FILE \[TLS_FAILED\]$/m,
    );
    expect(stderr).toContain('fix: set INGOT_CA_FILE=');
  });

  test('refuses it too when only the system’s authorities are trusted', async () => {
    const { stderr } = await run(line, {}, `grpcs://${server.grpcAddress}`);
    expect(stderr).toContain('[TLS_FAILED]');
  });

  test.each([
    ['--ca-file /nowhere/ca.crt', /^error: --ca-file: can't read \/nowhere\/ca\.crt \(ENOENT\)\n$/],
    ['--cert-file /nowhere/c.crt', /^error: --cert-file: can't read /],
  ])('refuses %s in one line', async (options, message) => {
    const { code, stderr } = await run(`${line} ${options}`);
    expect(code).toBe(64);
    expect(stderr).toMatch(message);
  });

  test('refuses a file that holds no certificate, and half of a pair', async () => {
    const file = join(authority.dir, 'words.txt');
    writeFileSync(file, 'words');
    expect((await run(`${line} --cert-file ${file} --key-file ${file}`)).stderr).toMatch(
      /^error: --cert-file: it and the key are not a certificate and its key/,
    );
    expect((await run(`${line} --key-file ${authority.caFile}`)).stderr).toMatch(/belong together/);
  });
});

test('a server without TLS is not taken for one with it', async () => {
  const plain = await startTestServer();
  try {
    const env = { INGOT_CA_FILE: authority.caFile, INGOT_TOKEN: plain.adminToken };
    expect((await run('list', env, plain.grpcAddress)).stderr).toContain(
      'it answers without TLS [TLS_FAILED]',
    );
    const { stderr } = await run('image list', {
      ...env,
      INGOT_HTTP_URL: plain.httpUrl.replace('http', 'https'),
    });
    expect(stderr).toContain('it answers without TLS [TLS_FAILED]');
    // Asked for by name, it may be used without.
    expect(await run('list', env, `grpc://${plain.grpcAddress}`)).toMatchObject({ code: 0 });
  } finally {
    await plain.stop();
  }
});

test('a certificate for other names is refused', async () => {
  const { cert, key } = authority.issue({ name: 'other', names: ['other.example'], purpose: 'server' });
  const other = await startTestServer({ tls: { cert_file: cert, key_file: key, caFile: authority.caFile } });
  try {
    const env = { INGOT_CA_FILE: authority.caFile, INGOT_HTTP_URL: other.httpUrl };
    for (const line of ['list', 'image list'])
      expect((await run(line, env, other.grpcAddress)).stderr).toMatch(/its certificate is for other names/);
  } finally {
    await other.stop();
  }
});
