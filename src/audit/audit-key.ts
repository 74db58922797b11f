/** The Ed25519 key that signs checkpoints. It is never in the database: who may write there can't sign. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';

export interface AuditKey {
  /** SHA256: and the hash of the public key, as `ssh-keygen -l` writes fingerprints. */
  readonly keyId: string;
  /** SPKI, base64. */
  readonly publicKey: string;
  sign(text: string): string;
}

export class NotAKey extends Error {}

export function keyIdOf(publicKey: string): string {
  return `SHA256:${hash('sha256', Buffer.from(publicKey, 'base64'), 'base64').replace(/=+$/, '')}`;
}

/** A new private key, as the PEM of PKCS #8. */
export function newKeyPem(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The error never quotes the text. */
export function auditKeyOf(pem: string): AuditKey {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new NotAKey('is not a private key in PEM');
  }
  if (key.asymmetricKeyType !== 'ed25519') throw new NotAKey('is not an Ed25519 key');
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
  return {
    keyId: keyIdOf(publicKey),
    publicKey,
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64'),
  };
}

export function publicPem(publicKey: string): string {
  const lines = publicKey.match(/.{1,64}/g) ?? [];
  return `-----BEGIN PUBLIC KEY-----\n${lines.join('\n')}\n-----END PUBLIC KEY-----\n`;
}

/** The id of the key in a PEM file, public or private. */
export function keyIdInPem(pem: string): string {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType !== 'ed25519') throw new NotAKey('is not an Ed25519 key');
    return keyIdOf(key.export({ type: 'spki', format: 'der' }).toString('base64'));
  } catch (error) {
    if (error instanceof NotAKey) throw error;
    throw new NotAKey('is not a public key in PEM');
  }
}

export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), type: 'spki', format: 'der' });
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
  } catch {
    // What is no key, or no signature, has signed nothing.
    return false;
  }
}
