/** Programs that tests drive and that npm has no package for. */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

const POLICY = '/usr/sbin/policy-rc.d';

/** Tries to, where that is possible; whoever needs the programs looks whether they are there. */
export function installPackages(...names: readonly string[]): void {
  if (process.getuid?.() !== 0) return;
  const ours = !existsSync(POLICY);
  // Without it a package would start its daemon.
  if (ours) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  const apt = (...args: string[]) =>
    spawnSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: 'ignore',
      timeout: 180_000,
    });
  apt('update');
  apt('install', '-y', '--no-install-recommends', ...names);
  if (ours) rmSync(POLICY, { force: true });
}
