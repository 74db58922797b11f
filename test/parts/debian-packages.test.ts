import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { neededBy } from '../../scripts/install-test-packages.ts';
import { REQUIREMENTS } from './debian-packages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('the table names the tests of every requirement, and no others', () => {
  const files = execFileSync('git', ['grep', '-lE', 'needs\\(|installTestPackages\\(', '--', 'src', 'test'], {
    cwd: root,
    encoding: 'utf8',
  });
  const users = files
    .split('\n')
    .map((file) => [file, readFileSync(join(root, file || 'package.json'), 'utf8')]);
  for (const [name, { tests }] of Object.entries(REQUIREMENTS)) {
    const usesIt = (text = '') => new RegExp(`(needs|titleWith)\\([^)]*'${name}'`).test(text);
    const listed = (file = '') => tests.some((test) => file.startsWith(test));
    const unlisted = users.filter(
      ([file, text]) => file?.endsWith('.test.ts') && usesIt(text) && !listed(file),
    );
    expect(
      unlisted.map(([file]) => file),
      name,
    ).toEqual([]);
  }
});

it('a run installs what its tests need, and what takes a command of its own only for that', () => {
  const packagesFor = (...paths: string[]) => neededBy(paths).flatMap(({ packages }) => packages);
  expect(packagesFor()).toContain('chromium');
  expect(packagesFor()).not.toContain('patroni');
  expect(packagesFor()).not.toContain('qemu-system-arm');
  expect(packagesFor('test/netboot/arm64.test.ts')).toContain('qemu-system-arm');
  expect(packagesFor('test/agents')).toEqual(['redis-server', 'redis-tools']);
  expect(packagesFor('src/domain')).toEqual([]);
});

it('without a program, and with INGOT_TEST_INSTALL=0, its tests are skipped by name and counted', {
  tags: ['extended'],
  timeout: 60_000,
}, () => {
  const bin = mkdtempSync(join(tmpdir(), 'ingot-no-programs-'));
  try {
    symlinkSync(process.execPath, join(bin, 'node'));
    const { INGOT_TEST_PACKAGES: _checked, ...env } = process.env;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', 'run', '--project', 'ingot', 'src/installer/cpio.test.ts'],
      { cwd: root, encoding: 'utf8', env: { ...env, PATH: bin, INGOT_TEST_INSTALL: '0', NO_COLOR: '1' } },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('are missing and not installed: INGOT_TEST_INSTALL=0\n  busybox-static');
    expect(stdout).toMatch(
      /Skipped for want of Debian packages: 1 tests\n {2}1 need: apt-get install busybox-static\n/,
    );
    expect(stdout).toMatch(/ {4}src\/installer\/cpio\.test\.ts > .*is one that cpio lists and reads\n/);
  } finally {
    rmSync(bin, { recursive: true, force: true });
  }
});
