import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAgentSettings, type SettingSources } from './agent-settings.ts';
import { openTokenSource } from './token/token-source.ts';

const needed = { server: 'https://ingot.example.com/base', machineId: '1165a9b6', pool: 'gpu' };
const sources = (options: SettingSources['options'], env: SettingSources['env'] = {}): SettingSources => ({
  options,
  env,
  cwd: folder,
});

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-agent-settings-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const NO_TLS = { hasCertificate: false, options: () => ({}) };
const readAgentToken = (sources: SettingSources) => openTokenSource(sources, NO_TLS).current();

describe('the settings of the agent', () => {
  it('have defaults for all but server, machine and pool', () => {
    expect(readAgentSettings(sources(needed))).toEqual({
      server: new URL('https://ingot.example.com/base'),
      machineId: '1165a9b6',
      pool: 'gpu',
      provider: 'generic',
      intervalMs: 60_000,
      timeoutMs: 30_000,
      privateIp: null,
      logLevel: 'info',
    });
  });

  it('come from the environment too, and options win', () => {
    const env = {
      INGOT_AGENT_SERVER: 'http://10.0.0.1:8080',
      INGOT_MACHINE_ID: 'from-env',
      INGOT_POOL: 'cpu',
      INGOT_AGENT_PROVIDER: 'rack',
      INGOT_AGENT_INTERVAL: '0.5',
      INGOT_AGENT_TIMEOUT: '2',
      INGOT_AGENT_PRIVATE_IP: '10.1.2.3',
      INGOT_AGENT_LOG_LEVEL: 'debug',
    };
    expect(readAgentSettings(sources({ pool: 'gpu' }, env))).toMatchObject({
      machineId: 'from-env',
      pool: 'gpu',
      provider: 'rack',
      intervalMs: 500,
      timeoutMs: 2000,
      privateIp: '10.1.2.3',
      logLevel: 'debug',
    });
  });

  it.each([
    [{ server: undefined }, /^--server: is missing: .*INGOT_AGENT_SERVER/],
    [{ machineId: undefined }, /^--machine-id: is missing: .*INGOT_MACHINE_ID/],
    [{ pool: undefined }, /^--pool: is missing: .*INGOT_POOL/],
    [{ server: 'ingot.example.com:8080' }, /^--server: is not an http/],
    [{ server: 'grpc://x' }, /^--server: is not an http/],
    [{ server: 'https://me:pass@x' }, /^--server: must not contain a user or a password$/],
    [{ server: 'https://x/?a=b' }, /^--server: must not have a query/],
    [{ machineId: 'a b' }, /^--machine-id: "a b" is not/],
    [{ machineId: 'a\nb' }, /^--machine-id: "a\\nb" is not/],
    [{ pool: '' }, /^--pool: "" is not/],
    [{ pool: 'x'.repeat(64) }, /^--pool: /],
    [{ provider: 'a:b' }, /^--provider: /],
    [{ interval: '0' }, /^--interval: "0" is not a number of seconds from 0.05 to 3600$/],
    [{ interval: '1e3' }, /^--interval: /],
    [{ timeout: 'NaN' }, /^--timeout: /],
    [{ privateIp: '300.1.1.1' }, /^--private-ip: /],
    [{ logLevel: 'loud' }, /^--log-level: "loud" is not one of/],
  ])('refuse %j in one line that names the setting', (options, line) => {
    const read = () => readAgentSettings(sources({ ...needed, ...options }));
    expect(read).toThrow(line);
    expect(read).not.toThrow(/\n/);
  });

  it('name the variable when it was the variable', () => {
    expect(() => readAgentSettings(sources(needed, { INGOT_AGENT_INTERVAL: 'often' }))).toThrow(
      /^INGOT_AGENT_INTERVAL: "often"/,
    );
  });
});

describe('the token of the agent', () => {
  it('is read from a file, without the line end', () => {
    writeFileSync(join(folder, 'token'), 'abc123\n');
    expect(readAgentToken(sources({ tokenFile: 'token' }))).toBe('abc123');
    expect(readAgentToken(sources({}, { INGOT_MACHINE_TOKEN_FILE: join(folder, 'token') }))).toBe('abc123');
  });

  it('is taken from an option before the environment', () => {
    expect(readAgentToken(sources({ token: 'mine' }, { INGOT_MACHINE_TOKEN: 'other' }))).toBe('mine');
    expect(readAgentToken(sources({ tokenFile: 'token' }, { INGOT_MACHINE_TOKEN: 'other' }))).toBe('abc123');
    expect(readAgentToken(sources({}, { INGOT_MACHINE_TOKEN: 'other' }))).toBe('other');
  });

  it('is not needed with a certificate, and used where it is given', () => {
    const tls = { ...NO_TLS, hasCertificate: true };
    expect(openTokenSource(sources({}), tls)).toMatchObject({ kind: 'certificate' });
    expect(openTokenSource(sources({}), tls).current()).toBeNull();
    expect(openTokenSource(sources({ token: 'mine' }), tls).current()).toBe('mine');
  });

  it('is asked for by name, and never repeated', () => {
    expect(() => readAgentToken(sources({}))).toThrow(
      /^--token-file: is missing: .*INGOT_MACHINE_TOKEN_FILE/,
    );
    expect(() => readAgentToken(sources({ tokenFile: 'nowhere' }))).toThrow(
      /^--token-file: can't read .*ENOENT/,
    );
    expect(() => readAgentToken(sources({ token: 'a', tokenFile: 'b' }))).toThrow(/use only one of them$/);
    expect(() => readAgentToken(sources({ token: 'spa ce-secret' }))).toThrow(/^--token: (?!.*secret)/);
    expect(() => readAgentToken(sources({}, { INGOT_MACHINE_TOKEN: 'a\nb-secret' }))).toThrow(
      /^INGOT_MACHINE_TOKEN: (?!.*secret)/,
    );
  });
});
