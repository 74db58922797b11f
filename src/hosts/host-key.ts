/**
 * A host key that we give a machine, so that we can verify it after its disk was written again. Encoded in OpenSSH's own
 * format here: ssh2's generator drops leading zero bytes, so that one of its keys in 180 can't be parsed.
 */
import { generateKeyPairSync, randomInt } from 'node:crypto';

export interface HostKey {
  /** In OpenSSH's format. Goes to the machine, and is kept nowhere else. */
  readonly privateKey: string;
  /** "ssh-ed25519 AAAA…" */
  readonly publicKey: string;
}

/** The key that a deployment gave a machine; null: no deployment of ours did. */
export interface DeployedHostKeys {
  read(machineId: string): Promise<string | null>;
}

export function newHostKey(): HostKey {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return encodeHostKey(Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url'));
}

const TYPE = 'ssh-ed25519';
const MAGIC = 'openssh-key-v1\0';
/** Of no cipher. */
const BLOCK_BYTES = 8;
const LINE_CHARACTERS = 70;

/** Of 32 bytes each. */
export function encodeHostKey(publicBytes: Buffer, secretBytes: Buffer): HostKey {
  const publicBlob = Buffer.concat([text(TYPE), text(publicBytes)]);
  const check = uint32(randomInt(2 ** 32 - 1));
  const unpadded = Buffer.concat([
    check,
    check,
    publicBlob,
    text(Buffer.concat([secretBytes, publicBytes])),
    // The comment.
    text(''),
  ]);
  const missing = (BLOCK_BYTES - (unpadded.length % BLOCK_BYTES)) % BLOCK_BYTES;
  const padding = Buffer.from(Array.from({ length: missing }, (_, index) => index + 1));
  const blob = Buffer.concat([
    Buffer.from(MAGIC, 'latin1'),
    // No cipher, no key derivation and no options of one, one key.
    text('none'),
    text('none'),
    text(''),
    uint32(1),
    text(publicBlob),
    text(Buffer.concat([unpadded, padding])),
  ]);
  const lines = blob.toString('base64').match(new RegExp(`.{1,${LINE_CHARACTERS}}`, 'g')) ?? [];
  const [begin, end] = ['BEGIN', 'END'].map((word) => `-----${word} OPENSSH PRIVATE KEY-----`);
  return {
    privateKey: `${[begin, ...lines, end].join('\n')}\n`,
    publicKey: `${TYPE} ${publicBlob.toString('base64')}`,
  };
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** With its length before it. */
function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint32(bytes.length), bytes]);
}
