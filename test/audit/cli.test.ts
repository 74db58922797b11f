/** `ingot audit` against a real server. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch, type Run } from '../cli/harness.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;
let cwd: string;

beforeAll(async () => {
  server = await startTestServer();
  cwd = mkdtempSync(join(tmpdir(), 'ingot-audit-cli-'));
  await server.admin.createPool({ name: 'demo' });
  await until(
    () => server.admin.getAuditKey({}),
    ({ sealedEvents }) => sealedEvents >= 3n,
  );
});
afterAll(async () => {
  await server?.stop();
  rmSync(cwd, { recursive: true, force: true });
});

const ingot = (line: string, token = server.adminToken): Promise<Run> =>
  launch(server.grpcAddress, line, { cwd, env: { INGOT_TOKEN: token } }).ended;

test('verifies online, with the key and what it remembers', async () => {
  const key = await ingot('audit key');
  expect(key.stdout).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
  writeFileSync(join(cwd, 'audit.pub'), key.stdout);
  for (const _turn of [1, 2]) {
    const run = await ingot('audit verify --public-key audit.pub --checkpoint head.json');
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toMatch(
      /^verified: \d+ events in \d+ blocks?\nsigned up to block \d+ at .* by SHA256:/,
    );
  }
  expect(JSON.parse(readFileSync(join(cwd, 'head.json'), 'utf8'))).toMatchObject({ type: 'checkpoint' });
});

test('exports to a file for its owner, and verifies it without a server', async () => {
  expect((await ingot('audit export --file all.jsonl')).code).toBe(0);
  const file = join(cwd, 'all.jsonl');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await ingot('audit verify --file all.jsonl --public-key audit.pub')).code).toBe(0);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"subject":"demo"', '"subject":"other"'));
  const found = await ingot('audit verify --file all.jsonl --public-key audit.pub');
  expect(found.code).toBe(1);
  expect(found.stdout).toMatch(/^event \d+ was changed\nTAMPERED: 1 finding in /);
  expect(JSON.parse((await ingot('audit verify --file all.jsonl -o json')).stdout)).toMatchObject({
    verified: false,
    findings: [{ kind: 'changed' }],
  });
});

test('exports by time and actor to stdout', async () => {
  const { code, stdout } = await ingot('audit export --since 1h --actor admin:admin');
  expect(code).toBe(0);
  const events = stdout.split('\n').filter((line) => line.startsWith('{"type":"event"'));
  expect(events.length).toBeGreaterThan(0);
  expect(events.every((line) => line.includes('"actor_id":"admin"'))).toBe(true);
  expect((await ingot('audit export --since yesterday')).code).toBe(64);
});

test('prints the SQL of the role that can only append', async () => {
  const { code, stdout } = await ingot('audit role --name auditor');
  expect(code).toBe(0);
  expect(stdout).toContain('REVOKE UPDATE, DELETE, TRUNCATE ON events');
  expect((await ingot('audit role --name "a;b"')).code).toBe(64);
});

test('is for admins, and says what is wrong with a file', async () => {
  const { secret } = await server.admin.createToken({ name: 'desk', role: 'viewer' });
  expect((await ingot('audit verify', secret)).code).toBe(4);
  expect((await ingot('audit verify --file none.jsonl')).code).toBe(64);
  writeFileSync(join(cwd, 'no.pub'), 'not a key');
  const run = await ingot('audit verify --public-key no.pub');
  expect(run).toMatchObject({ code: 64 });
  expect(run.stderr).toContain('is not a public key in PEM');
});
