/** Makes X.509 certificates: an authority, and certificates for servers and clients that it signs. Keys are on P-256. */
import { createHash, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';
import {
  bits,
  certificateTime,
  context,
  implicit,
  integer,
  objectId,
  octets,
  sequence,
  set,
  utf8,
  yes,
} from './der.ts';

export type Purpose = 'authority' | 'server' | 'client';

export interface CertificateRequest {
  readonly commonName: string;
  /** DNS names, IP addresses and URIs; one with `://` in it is a URI. */
  readonly names: readonly string[];
  readonly purpose: Purpose;
  readonly publicKey: KeyObject;
  readonly serial: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface Issuer {
  readonly commonName: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const COMMON_NAME = '2.5.4.3';
const VERSION_3 = 2;

/** Bits of the key usage, from the first: signatures 0x80, certificates 0x04, revocation lists 0x02. */
const PURPOSES = {
  authority: { usage: 0x06, unused: 1, extended: null },
  server: { usage: 0x80, unused: 7, extended: '1.3.6.1.5.5.7.3.1' },
  client: { usage: 0x80, unused: 7, extended: '1.3.6.1.5.5.7.3.2' },
} as const satisfies Record<Purpose, { usage: number; unused: number; extended: string | null }>;

export function certificatePem(request: CertificateRequest, issuer: Issuer): string {
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const content = sequence(
    context(0, integer(Buffer.from([VERSION_3]))),
    integer(request.serial),
    algorithm,
    nameOf(issuer.commonName),
    sequence(certificateTime(request.notBefore), certificateTime(request.notAfter)),
    nameOf(request.commonName),
    spki(request.publicKey),
    context(3, sequence(...extensionsOf(request, issuer))),
  );
  const signature = sign('sha256', content, issuer.privateKey);
  return pem(sequence(content, algorithm, bits(signature)));
}

function extensionsOf(request: CertificateRequest, issuer: Issuer): Buffer[] {
  const { usage, unused, extended } = PURPOSES[request.purpose];
  const isAuthority = request.purpose === 'authority';
  return [
    // An authority that signs no other authority.
    critical('2.5.29.19', isAuthority ? sequence(yes(), integer(Buffer.from([0]))) : sequence()),
    critical('2.5.29.15', bits(Buffer.from([usage]), unused)),
    ...(extended === null ? [] : [extension('2.5.29.37', sequence(objectId(extended)))]),
    ...(request.names.length === 0
      ? []
      : [extension('2.5.29.17', sequence(...request.names.map(alternativeName)))]),
    extension('2.5.29.14', octets(keyId(request.publicKey))),
    extension('2.5.29.35', sequence(implicit(0, keyId(issuer.publicKey)))),
  ];
}

const extension = (id: string, value: Buffer): Buffer => sequence(objectId(id), octets(value));
const critical = (id: string, value: Buffer): Buffer => sequence(objectId(id), yes(), octets(value));

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(objectId(COMMON_NAME), utf8(commonName))));
}

function alternativeName(name: string): Buffer {
  if (name.includes('://')) return implicit(6, Buffer.from(name, 'ascii'));
  const version = isIP(name);
  if (version === 0) return implicit(2, Buffer.from(name, 'ascii'));
  return implicit(7, version === 4 ? Buffer.from(name.split('.').map(Number)) : ipv6Bytes(name));
}

function ipv6Bytes(address: string): Buffer {
  // The URL parser writes the short form of any address, without a dotted part.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const missing = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(missing).fill('0'), ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

function keyId(key: KeyObject): Buffer {
  return createHash('sha256').update(spki(key)).digest().subarray(0, 20);
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
