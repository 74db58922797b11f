/**
 * Which keys a host may have, from a file in OpenSSH's known_hosts format: plain, [host]:port, hashed and pattern
 * names, and revoked keys. A line that can't be read says nothing, so that it can only make a host unknown.
 * Certificate authorities are left out: host certificates are not supported.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import { readReferredFile } from '../connections/credential-reference.ts';
import type { Endpoint } from '../connections/endpoint.ts';

interface KnownKey {
  readonly type: string;
  readonly blob: Buffer;
  readonly revoked: boolean;
}

interface Entry {
  readonly matches: (name: string) => boolean;
  readonly key: KnownKey;
}

export type HostKeyVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly problem: 'unknown' | 'changed' | 'revoked' };

export class KnownHosts {
  /** Most names are plain: these need no search, however many hosts there are. */
  readonly #plain = new Map<string, KnownKey[]>();
  readonly #others: Entry[] = [];
  readonly #also: KnownHosts | null;

  constructor(text: string, also: KnownHosts | null = null) {
    this.#also = also;
    for (const line of text.split(/\r?\n/)) this.#add(line);
  }

  /** These, and one key more of one host: "ssh-ed25519 AAAA…". */
  with(endpoint: Endpoint, publicKey: string): KnownHosts {
    return new KnownHosts(`${nameOf(endpoint)} ${publicKey}`, this);
  }

  #add(line: string): void {
    const words = line.trim().split(/\s+/);
    const marker = words[0]?.startsWith('@') ? words.shift() : undefined;
    const [names, type, encoded] = words;
    if (names === undefined || names.startsWith('#') || type === undefined || encoded === undefined) return;
    if (marker !== undefined && marker !== '@revoked') return;
    const key = { type, blob: Buffer.from(encoded, 'base64'), revoked: marker === '@revoked' };
    if (names.startsWith('|1|')) {
      this.#others.push({ key, matches: hashedMatcher(names) });
    } else if (/[*?!]/.test(names)) {
      this.#others.push({ key, matches: patternMatcher(names.split(',')) });
    } else {
      for (const name of names.split(',')) {
        const known = this.#plain.get(name.toLowerCase());
        if (known) known.push(key);
        else this.#plain.set(name.toLowerCase(), [key]);
      }
    }
  }

  keysOf(endpoint: Endpoint): readonly KnownKey[] {
    const name = nameOf(endpoint);
    const others = this.#others.filter(({ matches }) => matches(name)).map(({ key }) => key);
    return [...(this.#plain.get(name) ?? []), ...others, ...(this.#also?.keysOf(endpoint) ?? [])];
  }

  verdict(endpoint: Endpoint, blob: Buffer): HostKeyVerdict {
    const keys = this.keysOf(endpoint);
    const same = keys.filter((key) => key.blob.equals(blob));
    if (same.some(({ revoked }) => revoked)) return { ok: false, problem: 'revoked' };
    if (same.length > 0) return { ok: true };
    return { ok: false, problem: keys.some(({ revoked }) => !revoked) ? 'changed' : 'unknown' };
  }
}

export function keyFingerprint(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/** Read again when the file has changed: adding a machine must not need a restart. */
export function knownHostsReader(file: string): () => KnownHosts {
  let last: { readonly version: string; readonly hosts: KnownHosts } | null = null;
  return () => {
    const { mtimeMs, size, ino } = statSync(file, { throwIfNoEntry: false }) ?? {};
    const version = `${mtimeMs}/${size}/${ino}`;
    if (last?.version !== version) last = { version, hosts: new KnownHosts(readReferredFile(file)) };
    return last.hosts;
  };
}

function nameOf({ host, port }: Endpoint): string {
  const name = host.toLowerCase();
  return port === 22 ? name : `[${name}]:${port}`;
}

function hashedMatcher(text: string): (name: string) => boolean {
  const [, , salt = '', hash = ''] = text.split('|');
  const wanted = Buffer.from(hash, 'base64');
  const key = Buffer.from(salt, 'base64');
  return (name) => {
    const digest = createHmac('sha1', key).update(name).digest();
    return digest.length === wanted.length && timingSafeEqual(digest, wanted);
  };
}

function patternMatcher(patterns: readonly string[]): (name: string) => boolean {
  const compiled = patterns.map((pattern) => {
    const negated = pattern.startsWith('!');
    const source = (negated ? pattern.slice(1) : pattern)
      .toLowerCase()
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.');
    return { negated, test: new RegExp(`^${source}$`) };
  });
  return (name) =>
    compiled.some(({ negated, test }) => !negated && test.test(name)) &&
    !compiled.some(({ negated, test }) => negated && test.test(name));
}
