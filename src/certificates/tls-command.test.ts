import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tlsCommand } from './tls-command.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'ingot-test-tls-command-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function run(name: string, options: Record<string, unknown> = {}, args: string[] = []) {
  const seen = { out: '', err: '' };
  const command = tlsCommand({
    program: 'ingot',
    cwd,
    dataDir: () => join(cwd, '.ingot'),
    now: Date.now,
    writeOut: (text) => {
      seen.out += text;
    },
    writeErr: (text) => {
      seen.err += text;
    },
  });
  const sub = command.subcommands?.find((candidate) => candidate.name === name) ?? command;
  return { code: await sub.run(options, args), ...seen };
}

const namesIn = (file: string) => new X509Certificate(readFileSync(join(cwd, file))).subjectAltName;

describe('tls init', () => {
  it('makes everything in the data directory, and prints the commands that use it', async () => {
    const { code, out } = await run('init', { host: ['ingot.example.com', '192.0.2.7'] });
    expect(code).toBe(0);
    expect(readdirSync(join(cwd, '.ingot/tls')).sort()).toEqual([
      'ca.crt',
      'ca.key',
      'client.crt',
      'client.key',
      'server.crt',
      'server.key',
    ]);
    expect(namesIn('.ingot/tls/server.crt')).toBe(
      `DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:${hostname()}, DNS:ingot.example.com, IP Address:192.0.2.7`,
    );
    expect(namesIn('.ingot/tls/client.crt')).toBe('DNS:client, URI:spiffe://ingot/client');
    expect(out).toContain('--tls-cert-file .ingot/tls/server.crt --tls-key-file .ingot/tls/server.key');
    expect(out).toContain('INGOT_CA_FILE=.ingot/tls/ca.crt');
  });

  it('takes a directory, as argument or as option', async () => {
    await run('init', {}, ['here']);
    await run('init', { dir: 'there' });
    expect(existsSync(join(cwd, 'here/ca.crt')) && existsSync(join(cwd, 'there/ca.crt'))).toBe(true);
  });

  it('never overwrites', async () => {
    await run('init', {}, ['here']);
    const before = readFileSync(join(cwd, 'here/ca.crt'), 'utf8');
    expect(await run('init', {}, ['here'])).toMatchObject({
      code: 64,
      err: `ingot: ${join(cwd, 'here/ca.key')} exists already, and is not overwritten: use another directory or name, or remove it\n`,
    });
    expect(readFileSync(join(cwd, 'here/ca.crt'), 'utf8')).toBe(before);
  });

  it.each([
    [{ host: ['https://x'] }, '--host: "https://x" is not a DNS name or an IP address'],
    [{ days: '0' }, '--days: "0" is not a whole number from 1 to 3650'],
  ])('refuses %j before it writes anything', async (options, message) => {
    expect(await run('init', options, ['here'])).toMatchObject({ code: 64, err: `ingot: ${message}\n` });
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe('tls client and tls server', () => {
  it('make more certificates of the same authority', async () => {
    await run('init', {}, ['here']);
    await run('client', { dir: 'here', san: ['spiffe://acme/ops'] }, ['ops']);
    await run('client', { dir: 'here' }, ['agent-7']);
    await run('server', { dir: 'here', host: ['next.example.com'] }, ['next']);
    expect(namesIn('here/ops.crt')).toBe('URI:spiffe://acme/ops');
    expect(namesIn('here/agent-7.crt')).toBe('DNS:agent-7');
    expect(namesIn('here/next.crt')).toBe('DNS:next.example.com');
  });

  it.each(['../ops', '', 'ca', 'a b'])('refuse the name %j', async (name) => {
    await run('init', {}, ['here']);
    expect((await run('client', { dir: 'here' }, [name])).code).toBe(64);
  });
});

it('without a subcommand names one', async () => {
  expect(await run('')).toMatchObject({ code: 64, err: 'ingot: missing command: ingot tls init\n' });
});
