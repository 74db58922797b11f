import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CertificateError, createAuthority, createCertificate, filesOf } from './try-out.ts';

let dir: string;
const clock = { now: () => Date.parse('2026-05-01T12:00:00Z'), days: 30 };
const read = (name: string) => new X509Certificate(readFileSync(filesOf(dir, name).cert));

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-test-certificates-'));
  createAuthority(dir, clock);
  createCertificate(
    dir,
    {
      name: 'server',
      names: ['localhost', '127.0.0.1', '::1', '2001:db8::17:1', 'spiffe://acme/ops'],
      purpose: 'server',
    },
    clock,
  );
  createCertificate(dir, { name: 'client', names: ['spiffe://acme/ops'], purpose: 'client' }, clock);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('a certificate', () => {
  it('is signed by its authority', () => {
    const authority = read('ca');
    expect(authority.ca).toBe(true);
    expect(authority.verify(authority.publicKey)).toBe(true);
    for (const name of ['server', 'client']) {
      const certificate = read(name);
      expect(certificate.ca).toBe(false);
      expect(certificate.checkIssued(authority)).toBe(true);
      expect(certificate.verify(authority.publicKey)).toBe(true);
      expect(certificate.checkPrivateKey(createPrivateKey(readFileSync(filesOf(dir, name).key)))).toBe(true);
    }
  });

  it('has the names that it was given, of every kind', () => {
    expect(read('server').subjectAltName).toBe(
      'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:2001:DB8:0:0:0:0:17:1, URI:spiffe://acme/ops',
    );
    expect(read('server').checkIP('2001:db8::17:1')).toBe('2001:db8::17:1');
    expect(read('server').checkHost('elsewhere')).toBeUndefined();
  });

  it('is valid for the time that was asked for, and serial numbers differ', () => {
    const { validFrom, validTo, serialNumber } = read('server');
    expect([Date.parse(validFrom), Date.parse(validTo)]).toEqual([
      Date.parse('2026-05-01T11:55:00Z'),
      Date.parse('2026-05-31T12:00:00Z'),
    ]);
    expect(serialNumber).not.toBe(read('client').serialNumber);
  });

  it('is what a strict verifier accepts for its purpose and no other', () => {
    const verify = (name: string, purpose: string) => {
      const time = String(clock.now() / 1000);
      const args = ['verify', '-x509_strict', '-attime', time, '-purpose', purpose, '-CAfile'];
      return execFileSync('openssl', [...args, filesOf(dir, 'ca').cert, filesOf(dir, name).cert], {
        encoding: 'utf8',
        stdio: 'pipe',
      });
    };
    expect(verify('server', 'sslserver')).toContain('OK');
    expect(verify('client', 'sslclient')).toContain('OK');
    expect(() => verify('client', 'sslserver')).toThrow();
  });
});

describe('files', () => {
  it('of keys are for their owner only', () => {
    for (const name of ['ca', 'server', 'client'])
      expect(statSync(filesOf(dir, name).key).mode & 0o777).toBe(0o600);
  });

  it('are never overwritten, and what is there stays', () => {
    const before = readFileSync(filesOf(dir, 'server').key, 'utf8');
    const again = () => createCertificate(dir, { name: 'server', names: [], purpose: 'server' }, clock);
    expect(again).toThrow(/server\.key exists already, and is not overwritten/);
    expect(() => createAuthority(dir, clock)).toThrow(CertificateError);
    expect(readFileSync(filesOf(dir, 'server').key, 'utf8')).toBe(before);
  });

  it('of an authority that is not there are named with the command that makes it', () => {
    const empty = join(dir, 'empty');
    const make = () => createCertificate(empty, { name: 'x', names: [], purpose: 'client' }, clock);
    expect(make).toThrow(
      `there is no authority in ${empty} (ENOENT): make one with "ingot tls init ${empty}"`,
    );
  });

  it('of another key are not an authority', () => {
    const other = mkdtempSync(join(tmpdir(), 'ingot-test-certificates-'));
    createAuthority(other, clock);
    writeFileSync(filesOf(other, 'ca').key, readFileSync(filesOf(dir, 'server').key));
    const make = () => createCertificate(other, { name: 'x', names: [], purpose: 'client' }, clock);
    expect(make).toThrow(/are not an authority/);
    rmSync(other, { recursive: true });
  });
});
