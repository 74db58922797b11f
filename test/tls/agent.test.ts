// @module-tag extended: client-certificates.test.ts has the same certificates.
/** The agent as it is shipped and a server with TLS: what it trusts, and its certificate in place of a token. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useAgentBundle } from '../agent/agent-process.ts';
import { createMachine } from '../agents/calls.ts';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

const bundle = useAgentBundle();
let authority: TestAuthority;
let stranger: TestAuthority;
let server: TestServer;

beforeAll(async () => {
  authority = testAuthority();
  stranger = testAuthority();
  const { cert, key } = authority.issue({ name: 'server', names: SERVER_NAMES, purpose: 'server' });
  server = await startTestServer({
    pools: ['gpu'],
    tls: { cert_file: cert, key_file: key, client_ca_file: authority.caFile, caFile: authority.caFile },
    certificates: [{ san: 'spiffe://acme/machine/*', role: 'agent', scope: '' }],
  });
});
afterAll(async () => {
  await server?.stop();
  authority?.remove();
  stranger?.remove();
});

/** With an authority of clients configured, the server sends its own authority too, and OpenSSL's words differ. */
const UNTRUSTED = /registration failed .*(?:unable to verify|self-signed)/;

const start = (machineId: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  bundle.start(
    ['--server', server.httpUrl, '--machine-id', machineId, '--pool', 'gpu', '--interval', '0.2', ...args],
    env,
  );
const presence = (machineId: string) =>
  expect.poll(async () => (await server.machines.getMachine({ machineId })).status?.presence, {
    timeout: 20_000,
  });

test('trusts the authority of INGOT_CA_FILE or --ca-file, and no other', async () => {
  const { machineId, token } = await createMachine(server);
  const env = { INGOT_MACHINE_TOKEN: token };
  await start(machineId, [], env).says(UNTRUSTED);
  await start(machineId, ['--ca-file', stranger.caFile], env).says(UNTRUSTED);
  expect((await server.machines.getMachine({ machineId })).status?.presence).toBe('pending');
  start(machineId, ['--ca-file', authority.caFile], { ...env, INGOT_CA_FILE: stranger.caFile });
  await presence(machineId).toBe('ready');
});

test('uses its certificate without a token, and the next one when its files change', async () => {
  const { machineId } = await createMachine(server);
  const issue = (name: string, san: string) => authority.issue({ name, names: [san], purpose: 'client' });
  const wrong = issue('elsewhere', 'spiffe://acme/machine/elsewhere');
  const right = issue('agent', `spiffe://acme/machine/${machineId}`);
  const files = { cert: join(authority.dir, 'mine.crt'), key: join(authority.dir, 'mine.key') };
  copyFileSync(wrong.cert, files.cert);
  copyFileSync(wrong.key, files.key);
  const agent = start(machineId, [], {
    INGOT_CA_FILE: authority.caFile,
    INGOT_CERT_FILE: files.cert,
    INGOT_KEY_FILE: files.key,
  });
  await agent.says(/registration denied/);
  copyFileSync(right.cert, files.cert);
  copyFileSync(right.key, files.key);
  await presence(machineId).toBe('ready');
  expect(agent.stderr()).not.toContain('PRIVATE KEY');
});

test.each([
  [
    ['--ca-file', '/nowhere/ca.crt'],
    /^ingot-agent: --ca-file: can't read "\/nowhere\/ca\.crt" \(ENOENT\)\n$/,
  ],
  [
    ['--cert-file', '/nowhere/c.crt'],
    /^ingot-agent: --cert-file and --key-file: only one of them is given\n$/,
  ],
])('refuses %j in one line', async (args, line) => {
  const agent = start('m', args, { INGOT_MACHINE_TOKEN: 'x' });
  expect((await agent.ended).code).toBe(64);
  expect(agent.stderr()).toMatch(line);
});
