/**
 * How the client verifies a server and identifies itself to it. The certificate of the server is always verified: against
 * the authorities of `--ca-file` where it is given, otherwise against those that Node.js trusts.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { UsageError } from '../errors/usage-error.ts';

export interface ClientTls {
  readonly ca: Buffer | null;
  /** The certificate of this client, and its key. */
  readonly pair: { readonly cert: Buffer; readonly key: Buffer } | null;
}

export interface ClientTlsOptions {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
}

/** A flag, and the variable that is used without it. */
const CLIENT_TLS_SETTINGS = {
  caFile: { flag: '--ca-file', variable: 'INGOT_CA_FILE' },
  certFile: { flag: '--cert-file', variable: 'INGOT_CERT_FILE' },
  keyFile: { flag: '--key-file', variable: 'INGOT_KEY_FILE' },
} as const satisfies Record<keyof ClientTlsOptions, { flag: string; variable: string }>;

type Environment = Readonly<Record<string, string | undefined>>;

export function readClientTls(options: ClientTlsOptions, env: Environment, cwd: string): ClientTls {
  const find = (name: keyof ClientTlsOptions) => {
    const { flag, variable } = CLIENT_TLS_SETTINGS[name];
    const from = options[name] === undefined ? variable : flag;
    const file = options[name] ?? env[variable] ?? '';
    return file === '' ? null : { from, bytes: read(resolve(cwd, file), from) };
  };
  const ca = find('caFile');
  const cert = find('certFile');
  const key = find('keyFile');
  if ((cert === null) !== (key === null)) {
    const { certFile, keyFile } = CLIENT_TLS_SETTINGS;
    throw new UsageError(`${certFile.flag} and ${keyFile.flag} belong together: only one of them is given`);
  }
  if (ca) check(`${ca.from}: the file has no certificate in PEM form`, { ca: ca.bytes });
  const pair = cert && key && { cert: cert.bytes, key: key.bytes };
  if (pair) check(`${cert.from}: it and the key are not a certificate and its key in PEM form`, pair);
  return { ca: ca?.bytes ?? null, pair };
}

/** Whether any of the settings names TLS, so that an address without a scheme means it. */
export function isTlsWanted({ ca, pair }: ClientTls): boolean {
  return ca !== null || pair !== null;
}

export function secureOptions({ ca, pair }: ClientTls): SecureContextOptions {
  return { minVersion: 'TLSv1.2', ...(ca && { ca }), ...pair };
}

function read(file: string, from: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new UsageError(`${from}: can't read ${file} (${code})`);
  }
}

function check(problem: string, options: SecureContextOptions): void {
  try {
    createSecureContext(options);
  } catch {
    throw new UsageError(problem);
  }
}
