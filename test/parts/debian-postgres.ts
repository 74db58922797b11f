/** Debian's PostgreSQL, which is older than the one that comes with Ingot. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { installTestPackages } from '../../scripts/install-test-packages.ts';
import type { Binaries } from '../../src/store/embedded/binaries.ts';

const ROOT = '/usr/lib/postgresql';

/** The newest that is installed; null where there is none. */
export function debianPostgres(): Binaries | null {
  const versions = existsSync(ROOT) ? readdirSync(ROOT).map(Number) : [];
  for (const version of versions.toSorted((left, right) => right - left)) {
    const bin = join(ROOT, String(version), 'bin');
    const binaries = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
    if (existsSync(binaries.postgres) && existsSync(binaries.initdb)) return binaries;
  }
  return null;
}

export function installedDebianPostgres(): Binaries {
  if (debianPostgres() === null) installTestPackages(['debian-postgresql']);
  const binaries = debianPostgres();
  if (binaries === null)
    throw new Error(`Debian's package postgresql is not installed: ${ROOT} has no server`);
  return binaries;
}
