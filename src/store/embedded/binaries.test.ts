import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { usableBinaries } from './binaries.ts';

const isRoot = process.getuid?.() === 0;
const unprivileged = { uid: 65534, gid: 65534 };

let base: string;
let source: { dir: string; id: string };
let cache: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ingot-binaries-test-'));
  chmodSync(base, 0o755);
  source = makePackage(join(base, 'private', 'package'), 'exit 0');
  cache = join(base, 'cache');
});
afterEach(() => {
  chmodSync(join(source.dir, 'native/lib'), 0o755);
  rmSync(base, { recursive: true });
});

test('the links that the install script would have made are made once', async () => {
  const binaries = await usableBinaries(source, undefined, [cache]);
  expect(binaries.postgres).toBe(join(source.dir, 'native/bin/postgres'));
  expect(readlinkSync(join(source.dir, 'native/lib/libpq.so.5'))).toBe('libpq.so.5.18');
  await Promise.all(Array.from({ length: 5 }, () => usableBinaries(source, undefined, [cache])));
});

test.runIf(isRoot)('what the account can’t reach is copied where it can, by several at once', async () => {
  chmodSync(dirname(source.dir), 0o700);
  const found = await Promise.all(
    Array.from({ length: 5 }, () =>
      usableBinaries(source, unprivileged, [join(base, 'private/cache'), cache]),
    ),
  );
  const copy = join(cache, source.id);
  expect(new Set(found.map((binaries) => dirname(binaries.postgres)))).toEqual(
    new Set([join(copy, 'native/bin')]),
  );
  expect(readdirSync(cache)).toEqual([source.id]);
  expect(readlinkSync(join(copy, 'native/lib/libpq.so.5'))).toBe('libpq.so.5.18');
  const library = statSync(join(copy, 'native/lib/libpq.so.5.18'));
  expect([library.uid, library.mode & 0o777]).toEqual([0, 0o644]);
});

test.runIf(isRoot)('a cache that another user could have prepared is not used', async () => {
  chmodSync(dirname(source.dir), 0o700);
  mkdirSync(cache);
  chmodSync(cache, 0o777);
  await expect(usableBinaries(source, unprivileged, [cache])).rejects.toThrow(
    'can be changed by another user',
  );
});

test.skipIf(isRoot)('a read-only package is copied', async () => {
  chmodSync(join(source.dir, 'native/lib'), 0o555);
  const binaries = await usableBinaries(source, undefined, [cache]);
  expect(binaries.initdb).toBe(join(cache, source.id, 'native/bin/initdb'));
});

test('a program that can’t run on this system is reported, not copied', async () => {
  const broken = makePackage(join(base, 'broken'), 'echo "wrong libc" >&2; exit 127');
  await expect(usableBinaries(broken, undefined, [cache])).rejects.toThrow(
    "PostgreSQL can't run here: wrong libc",
  );
  expect(readdirSync(base)).not.toContain('cache');
});

function makePackage(dir: string, script: string): { dir: string; id: string } {
  for (const sub of ['bin', 'lib', 'share']) mkdirSync(join(dir, 'native', sub), { recursive: true });
  for (const name of ['initdb', 'postgres']) {
    writeFileSync(join(dir, 'native/bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  }
  writeFileSync(join(dir, 'native/lib/libpq.so.5.18'), '', { mode: 0o600 });
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
  writeFileSync(join(dir, 'native/pg-symlinks.json'), JSON.stringify(links));
  return { dir, id: 'postgresql-1-test' };
}
