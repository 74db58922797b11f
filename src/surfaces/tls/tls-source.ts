/** The certificate that both ports present. It changes while the server runs, and connections that are open stay open. */
import type { SecureContextOptions } from 'node:tls';

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Clients may present a certificate of these authorities. Null: none is asked for. */
  readonly clientCa: Buffer | null;
}

export interface TlsSource {
  readonly current: TlsPair;
  /** Returns a function that ends the notifications. */
  onChange(listener: (pair: TlsPair) => void): () => void;
}

const OLDEST_VERSION = 'TLSv1.2';

export function contextOptions({ cert, key, clientCa }: TlsPair): SecureContextOptions {
  return { cert, key, minVersion: OLDEST_VERSION, ...(clientCa === null ? {} : { ca: clientCa }) };
}

/**
 * A certificate is asked for, and not required: callers may have a token instead. Whether it was verified is checked where
 * the caller is identified.
 */
export function clientCertificateOptions({ clientCa }: TlsPair): {
  requestCert: boolean;
  rejectUnauthorized: false;
} {
  return { requestCert: clientCa !== null, rejectUnauthorized: false };
}
