// The same as postgres.ts, on the PostgreSQL that Debian brings.
import type { TestProject } from 'vitest/node';
import { installedDebianPostgres } from '../parts/debian-postgres.ts';
import { startFor } from './postgres.ts';

export function setup(project: TestProject): Promise<() => Promise<void>> {
  return startFor(project, installedDebianPostgres());
}
