import { generateKeyPairSync } from 'node:crypto';
import ssh2, { type ParsedKey } from 'ssh2';
import { expect, it } from 'vitest';
import { encodeHostKey, type HostKey, newHostKey } from './host-key.ts';
import { publicKeyOf } from './ssh-configuration.ts';

function parsed({ privateKey }: HostKey): ParsedKey {
  const key = ssh2.utils.parseKey(privateKey);
  if (key instanceof Error) throw key;
  return key;
}

it('is a key that OpenSSH’s format can hold, whose halves belong together', () => {
  const key = newHostKey();
  const read = parsed(key);
  expect(publicKeyOf({ key: read })).toBe(key.publicKey);
  const signature = read.sign(Buffer.from('who are you'));
  const other = ssh2.utils.parseKey(key.publicKey);
  expect(!(other instanceof Error) && other.verify(Buffer.from('who are you'), signature)).toBe(true);
  expect(newHostKey().publicKey).not.toBe(key.publicKey);
});

it('keeps leading zero bytes, of either half', () => {
  const seen = new Set<'public' | 'secret'>();
  for (let tries = 0; tries < 20_000 && seen.size < 2; tries += 1) {
    const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
    const [publicBytes, secretBytes] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')];
    const half = publicBytes[0] === 0 ? 'public' : secretBytes[0] === 0 ? 'secret' : null;
    if (half === null) continue;
    const key = encodeHostKey(publicBytes, secretBytes);
    expect(publicKeyOf({ key: parsed(key) })).toBe(key.publicKey);
    seen.add(half);
  }
  expect(seen.size).toBe(2);
});
