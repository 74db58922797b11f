/**
 * Whether this version of Ingot can run on the schema of a database. It can run on all migrations that it knows. One that it
 * does not know was applied by a newer version; its min_version says whether older versions may still run.
 */
import type { Session } from '../database/database.ts';
import type { Migration } from './migration-files.ts';

/** Does not pass by itself: another version has to be started. */
export class SchemaTooNew extends Error {
  constructor(newest: string, minVersion: string | null, version: string) {
    const needs =
      minVersion === null
        ? 'which declares no min_version'
        : `which needs Ingot ${minVersion} or later (min_version)`;
    super(
      `the database's schema is newer than this Ingot: it has migration ${newest}, ${needs}; ` +
        `this is ${version}. Start a newer version here`,
    );
    this.name = 'SchemaTooNew';
  }
}

export interface AppliedMigration {
  readonly name: string;
  readonly digest: string;
  readonly minVersion: string | null;
}

/** Takes no lock that blocks anything but a change of the table itself. */
export async function readApplied(session: Session): Promise<AppliedMigration[]> {
  const [ledger] = await session.run<{ found: boolean }>(
    'schema-ledger',
    `SELECT to_regclass('schema_migrations') IS NOT NULL AS found`,
  );
  if (!ledger?.found) return [];
  // Through JSON: an old schema has no column min_version.
  const rows = await session.run<{ name: string; digest: string; min_version: string | null }>(
    'schema-applied',
    `SELECT name, digest, to_jsonb(applied) ->> 'min_version' AS min_version
     FROM schema_migrations AS applied ORDER BY name`,
  );
  return rows.map(({ name, digest, min_version }) => ({ name, digest, minVersion: min_version }));
}

/** Throws when this version can't run on the schema; returns the migrations that it does not know. */
export function checkSchema(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
  version: string,
): string[] {
  const digests = new Map(known.map(({ name, digest }) => [name, digest]));
  const unknown = applied.filter(({ name }) => !digests.has(name));
  const tooNew = unknown.findLast(({ minVersion }) => minVersion === null || !isAtLeast(version, minVersion));
  if (tooNew) throw new SchemaTooNew(tooNew.name, tooNew.minVersion, version);
  const changed = applied.find(({ name, digest }) => (digests.get(name) ?? digest) !== digest);
  if (changed) throw new Error(`migration ${changed.name} was changed after this database applied it`);
  return unknown.map(({ name }) => name);
}

/** False where a version is not three numbers separated by dots. */
export function isAtLeast(version: string, min: string): boolean {
  const [own, needed] = [numbersOf(version), numbersOf(min)];
  if (!own || !needed) return false;
  const differs = [0, 1, 2].find((place) => own[place] !== needed[place]);
  return differs === undefined || (own[differs] ?? 0) > (needed[differs] ?? 0);
}

function numbersOf(version: string): number[] | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(version);
  return match?.slice(1).map(Number);
}
