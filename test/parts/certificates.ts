/** An authority and certificates for a test, made by the code of `ingot tls init`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CertificateFiles,
  createAuthority,
  createCertificate,
  type NewCertificate,
} from '../../src/certificates/try-out.ts';

export interface TestAuthority {
  readonly dir: string;
  readonly caFile: string;
  readonly ca: Buffer;
  /** `days` below 0: it has expired. */
  issue(certificate: NewCertificate, days?: number): CertificateFiles;
  remove(): void;
}

export function testAuthority(): TestAuthority {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-test-authority-'));
  const { cert: caFile } = createAuthority(dir, { now: Date.now, days: 1 });
  return {
    dir,
    caFile,
    ca: readFileSync(caFile),
    issue: (certificate, days = 1) =>
      createCertificate(dir, certificate, {
        now: () => (days < 0 ? Date.now() + 2 * days * 86_400_000 : Date.now()),
        days: Math.abs(days),
      }),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

export const SERVER_NAMES = ['localhost', '127.0.0.1', '::1'] as const;
