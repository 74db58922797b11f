/**
 * Certificates for trying TLS out: a small authority of our own, and what it signs. They are files: the keys are readable
 * for their owner only, and none is ever overwritten.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  X509Certificate,
} from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { certificatePem, type Issuer, type Purpose } from './certificate.ts';

/** What is wrong and what to do; the command prints it. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export interface NewCertificate {
  /** Of its files, and its common name. */
  readonly name: string;
  readonly names: readonly string[];
  readonly purpose: 'server' | 'client';
}

export interface TryOutClock {
  readonly now: () => number;
  readonly days: number;
}

const AUTHORITY = 'ca';
const AUTHORITY_NAME = 'Ingot try-out CA';
const DAY_MS = 86_400_000;
/** A computer whose clock is a little behind accepts it too. */
const EARLIER_MS = 300_000;

export function filesOf(dir: string, name: string): CertificateFiles {
  return { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) };
}

export function createAuthority(dir: string, clock: TryOutClock): CertificateFiles {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { commonName: AUTHORITY_NAME, ...keys };
  return write(dir, AUTHORITY, {
    issuer,
    clock,
    keys,
    commonName: AUTHORITY_NAME,
    names: [],
    purpose: 'authority',
  });
}

/** Signed by the authority of the same directory. */
export function createCertificate(dir: string, { name, names, purpose }: NewCertificate, clock: TryOutClock) {
  if (name === AUTHORITY)
    throw new CertificateError(`"${AUTHORITY}" is the name of the authority; use another`);
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return write(dir, name, { issuer: readAuthority(dir), clock, keys, commonName: name, names, purpose });
}

function readAuthority(dir: string): Issuer {
  const files = filesOf(dir, AUTHORITY);
  try {
    const { publicKey, subject } = new X509Certificate(readFileSync(files.cert));
    const privateKey = createPrivateKey(readFileSync(files.key));
    const isPair = createPublicKey(privateKey).equals(publicKey);
    const [, commonName] = /^CN=([^\n]+)$/.exec(subject) ?? [];
    if (isPair && commonName !== undefined) return { commonName, privateKey, publicKey };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const cause = code === undefined ? '' : ` (${code})`;
    throw new CertificateError(
      `there is no authority in ${dir}${cause}: make one with "ingot tls init ${dir}"`,
    );
  }
  throw new CertificateError(`${files.cert} and ${files.key} are not an authority of "ingot tls init"`);
}

interface Written {
  readonly issuer: Issuer;
  readonly clock: TryOutClock;
  readonly keys: ReturnType<typeof keyPair>;
  readonly commonName: string;
  readonly names: readonly string[];
  readonly purpose: Purpose;
}

const keyPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

function write(dir: string, name: string, made: Written): CertificateFiles {
  const files = filesOf(dir, name);
  const { keys, clock, issuer } = made;
  const cert = certificatePem(
    {
      ...made,
      publicKey: keys.publicKey,
      // Positive, without a leading zero.
      serial: Buffer.from([0x40 | (randomBytes(1).readUInt8() & 0x3f), ...randomBytes(15)]),
      notBefore: new Date(clock.now() - EARLIER_MS),
      notAfter: new Date(clock.now() + clock.days * DAY_MS),
    },
    issuer,
  );
  const key = String(keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeNew(files.key, key, 0o600);
  try {
    writeNew(files.cert, cert, 0o644);
  } catch (error) {
    rmSync(files.key);
    throw error;
  }
  return files;
}

function writeNew(file: string, text: string, mode: number): void {
  try {
    writeFileSync(file, text, { mode, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CertificateError(
      code === 'EEXIST'
        ? `${file} exists already, and is not overwritten: use another directory or name, or remove it`
        : `${file} can't be written (${code ?? 'unknown error'})`,
    );
  }
}
