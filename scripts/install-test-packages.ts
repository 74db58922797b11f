/** Installs the Debian packages that the tests of the given paths need, or those of all tests, and says so before it does. */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { isPresent, REQUIREMENTS, type Requirement } from '../test/parts/debian-packages.ts';

const POLICY = '/usr/sbin/policy-rc.d';
const APT_TIME_LIMIT_MS = 600_000;

/** Tests whose packages are still missing afterwards skip themselves and say why. */
export function installTestPackages(paths: readonly string[]): void {
  const missing = neededBy(paths).filter((requirement) => !isPresent(requirement));
  if (missing.length === 0) return;
  const refusal = whyNot();
  console.log(
    refusal === null
      ? 'Installing Debian packages that the tests need, as root (INGOT_TEST_INSTALL=0 refuses):'
      : `Debian packages that the tests need are missing and not installed: ${refusal}`,
  );
  const width = Math.max(...missing.map(({ packages }) => packages.join(' ').length));
  for (const { packages, purpose, tests } of missing)
    console.log(`  ${packages.join(' ').padEnd(width)}  ${purpose}: ${tests.join(', ')}`);
  if (refusal === null) install([...new Set(missing.flatMap(({ packages }) => packages))]);
}

export function neededBy(paths: readonly string[]): Requirement[] {
  return Object.values(REQUIREMENTS).filter(({ tests, when }: Requirement) =>
    paths.length === 0
      ? when === 'always'
      : paths.some((path) => tests.some((test) => path.includes(test) || test.includes(path))),
  );
}

function whyNot(): string | null {
  if (process.env.INGOT_TEST_INSTALL === '0') return 'INGOT_TEST_INSTALL=0';
  return process.getuid?.() === 0 ? null : 'only root can install packages';
}

function install(packages: readonly string[]): void {
  const isOurs = !existsSync(POLICY);
  // Without it a package would start its daemon.
  if (isOurs) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  const apt = (...args: string[]) =>
    spawnSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      encoding: 'utf8',
      timeout: APT_TIME_LIMIT_MS,
    });
  apt('update');
  const { status, stderr, error } = apt('install', '-y', '--no-install-recommends', ...packages);
  if (status !== 0) console.log(`apt-get install failed: ${error?.message ?? stderr.trim()}`);
  if (isOurs) rmSync(POLICY, { force: true });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) installTestPackages(process.argv.slice(2));
