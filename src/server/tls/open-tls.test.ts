import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, createCertificate, filesOf } from '../../certificates/try-out.ts';
import { type Configuration, readConfiguration } from '../settings/configuration.ts';
import { type FlagValues, readSettings, SettingError } from '../settings/settings.ts';
import { checkTls } from './open-tls.ts';

let dir: string;
const file = (name: string) => join(dir, name);

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-test-open-tls-'));
  const clock = { now: Date.now, days: 1 };
  createAuthority(dir, clock);
  for (const name of ['one', 'two'])
    createCertificate(dir, { name, names: ['localhost'], purpose: 'server' }, clock);
  writeFileSync(file('words'), 'words');
});
afterAll(() => rmSync(dir, { recursive: true }));

function check(flags: FlagValues, configured: Partial<Configuration> = {}) {
  const settings = readSettings({}, flags, dir);
  return () => checkTls({ settings, configuration: { ...readConfiguration(null), ...configured } });
}

describe('the certificate of a server', () => {
  it('is that of the configuration, and settings win', () => {
    const tls = { cert_file: filesOf('.', 'none').cert, key_file: filesOf('.', 'none').key };
    expect(check({})()).toBe('plaintext');
    expect(check({ tlsCertFile: 'one.crt', tlsKeyFile: 'one.key' }, { tls })()).toBe('tls');
    expect(check({}, { tls: { cert_file: file('one.crt'), key_file: file('one.key') } })()).toBe('tls');
  });

  it.each([
    [{ tlsCertFile: 'one.crt', tlsKeyFile: 'none' }, /^tls: \S+none can't be read \(ENOENT\)$/],
    [{ tlsCertFile: 'one.crt', tlsKeyFile: 'two.key' }, /^tls: \S+two\.key is not the key of \S+one\.crt$/],
    [{ tlsCertFile: 'words', tlsKeyFile: 'one.key' }, /^tls: \S+words is not a certificate in PEM form$/],
    [{ tlsCertFile: 'one.crt', tlsKeyFile: 'words' }, /^tls: \S+words is not a private key in PEM form/],
    [
      { tlsCertFile: 'one.crt', tlsKeyFile: 'one.key', tlsClientCaFile: 'words' },
      /^tls: \S+words has no certificate in PEM form$/,
    ],
    [{ tlsCertFile: 'one.crt' }, /^INGOT_TLS_KEY_FILE: is missing/],
    [{ tlsKeyFile: 'one.key' }, /^INGOT_TLS_CERT_FILE: is missing/],
    [{ tlsClientCaFile: 'ca.crt' }, /^INGOT_TLS_CLIENT_CA_FILE: needs a certificate of the server/],
  ])('%j is refused in one line', (flags, line) => {
    expect(check(flags)).toThrow(SettingError);
    expect(check(flags)).toThrow(line);
    expect(check(flags)).not.toThrow(/\n/);
  });

  it.skipIf(process.getuid?.() === 0)('a key of another user is refused', () => {
    writeFileSync(file('locked.key'), '');
    chmodSync(file('locked.key'), 0);
    expect(check({ tlsCertFile: 'one.crt', tlsKeyFile: 'locked.key' })).toThrow(/can't be read \(EACCES\)/);
  });

  it('needs authorities of clients where their certificates are mapped', () => {
    const certificates = [{ san: 'a.example', role: 'viewer', scope: '' }];
    const pair = { tlsCertFile: 'one.crt', tlsKeyFile: 'one.key' };
    expect(check(pair, { certificates })).toThrow(/^INGOT_TLS_CLIENT_CA_FILE: is missing/);
    expect(check({ ...pair, tlsClientCaFile: 'ca.crt' }, { certificates })()).toBe('tls');
  });
});
