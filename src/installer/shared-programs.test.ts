import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { elfFile } from './elf.fixture.ts';
import { readPrograms } from './shared-programs.ts';

const [X86, ARM] = [62, 183];
const LOADER = '/lib64/ld-linux-x86-64.so.2';
const LIBRARIES = 'usr/lib/x86_64-linux-gnu';
const hasDpkg = spawnSync('dpkg-deb', ['--version']).error === undefined;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-programs-test-'));
  mkdirSync(join(dir, 'debs'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A file of the package, or where a link leads. */
function makePackage(name: string, files: Readonly<Record<string, Buffer | string>>): void {
  const root = join(dir, name);
  mkdirSync(join(root, 'DEBIAN'), { recursive: true });
  writeFileSync(
    join(root, 'DEBIAN/control'),
    `Package: ${name}\nVersion: 1\nArchitecture: all\nMaintainer: n <n@example.com>\nDescription: d\n`,
  );
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    if (typeof content === 'string') symlinkSync(content, join(root, path));
    else writeFileSync(join(root, path), content);
  }
  const { status, stderr } = spawnSync('dpkg-deb', ['-b', '-Zgzip', root, join(dir, 'debs', `${name}.deb`)]);
  if (status !== 0) throw new Error(String(stderr));
}

const read = () =>
  readPrograms({ folder: join(dir, 'debs') }, { architecture: 'amd64', cacheDir: join(dir, 'cache') });

const program = (...needed: string[]) => elfFile({ machine: X86, interpreter: LOADER, needed });
const library = (...needed: string[]) => elfFile({ machine: X86, needed });

describe.skipIf(!hasDpkg)('programs out of packages', () => {
  it('come with their loader and with every library that they or their libraries need', async () => {
    makePackage('zstd', { 'usr/bin/zstd': program('libone.so.1', 'libc.so.6') });
    makePackage('one', {
      [`${LIBRARIES}/libone.so.1`]: 'libone.so.1.2.3',
      [`${LIBRARIES}/libone.so.1.2.3`]: library('libtwo.so.2', 'libc.so.6'),
      [`${LIBRARIES}/libunused.so.9`]: library(),
    });
    makePackage('two', {
      [`${LIBRARIES}/glibc-hwcaps/x86-64-v3/libtwo.so.2`]: library('libfast.so.1'),
      [`${LIBRARIES}/libtwo.so.2`]: library('libone.so.1'),
    });
    makePackage('libc6', {
      'lib64/ld-linux-x86-64.so.2': `/${LIBRARIES}/ld-linux-x86-64.so.2`,
      [`${LIBRARIES}/ld-linux-x86-64.so.2`]: library(),
      [`${LIBRARIES}/libc.so.6`]: library('ld-linux-x86-64.so.2'),
    });
    const programs = await read();
    expect(programs.files.map(({ path }) => path)).toEqual([
      'bin/zstd',
      'lib/libc.so.6',
      'lib/libone.so.1',
      'lib/libtwo.so.2',
      'lib64/ld-linux-x86-64.so.2',
    ]);
    expect(programs.files.find(({ path }) => path === 'lib/libtwo.so.2')?.content).toEqual(
      library('libone.so.1'),
    );
    expect(programs.found.map(({ name }) => name)).toEqual(['zstd']);
    expect(programs.absent.map(({ name }) => name)).toEqual(['hdparm', 'nvme', 'qemu-img', 'sfdisk']);
    expect(await read()).toEqual(programs);
  });

  it('are none of another architecture, and nothing of this host', async () => {
    makePackage('zstd', { 'usr/bin/zstd': elfFile({ machine: ARM, interpreter: LOADER }) });
    makePackage('hdparm', { 'sbin/hdparm': process.execPath });
    expect(await read()).toMatchObject({ found: [], files: [] });
  });

  it('say which library no package contains', async () => {
    makePackage('hdparm', { 'sbin/hdparm': program('libc.so.6') });
    makePackage('libc6', { [`${LIBRARIES}/ld-linux-x86-64.so.2`]: library() });
    await expect(read()).rejects.toThrow('no package contains libc.so.6, which hdparm needs');
  });
});
