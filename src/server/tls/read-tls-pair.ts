/** Reads the files of the server's certificate and checks that they belong together, before any port presents them. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { TlsPair } from '../../surfaces/tls/tls-source.ts';
import type { TlsFiles } from './tls-configuration.ts';

/** Says which file is wrong and why; never what is in it. */
export class TlsProblem extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'TlsProblem';
  }
}

export function readTlsPair({ certFile, keyFile, clientCaFile }: TlsFiles): TlsPair {
  const pair = {
    cert: read(certFile),
    key: read(keyFile),
    clientCa: clientCaFile === null ? null : read(clientCaFile),
  };
  check(`${certFile} is not a certificate in PEM form`, () => new X509Certificate(pair.cert));
  check(`${keyFile} is not a private key in PEM form without a passphrase`, () =>
    createSecureContext({ key: pair.key }),
  );
  check(`${keyFile} is not the key of ${certFile}`, () =>
    createSecureContext({ key: pair.key, cert: pair.cert }),
  );
  const { clientCa } = pair;
  if (clientCa !== null)
    check(`${clientCaFile} has no certificate in PEM form`, () => new X509Certificate(clientCa));
  return pair;
}

/** The certificate that clients see: the first of the file. */
export function describeCertificate({ cert }: TlsPair): {
  serial: string;
  subject: string;
  names: string;
  valid_to: string;
} {
  const { serialNumber, subject, subjectAltName, validTo } = new X509Certificate(cert);
  return {
    serial: serialNumber,
    subject: subject.replaceAll('\n', ', '),
    names: subjectAltName ?? '',
    valid_to: new Date(validTo).toISOString(),
  };
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new TlsProblem(
      `${file} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
    );
  }
}

function check(problem: string, attempt: () => unknown): void {
  try {
    attempt();
  } catch {
    // OpenSSL's words differ between versions and name neither the file nor the remedy.
    throw new TlsProblem(problem);
  }
}
