/**
 * Whether this version of Ingot can run on the schema that it finds. What it knows, it can run on. A migration that it
 * does not know was applied by a newer version; that one's min_version says whether older ones may go on.
 */
import type { Session } from '../database/database.ts';
import type { Migration } from './migration-files.ts';

/** Not the database's fault, and not passing by itself: another version has to be started here. */
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

/** Takes no lock that anything but a change of the table itself waits for. */
export async function readApplied(session: Session): Promise<AppliedMigration[]> {
  const [ledger] = await session.run<{ found: boolean }>(
    'schema-ledger',
    `SELECT to_regclass('schema_migrations') IS NOT NULL AS found`,
  );
  if (!ledger?.found) return [];
  // Through JSON: a schema from before min_version has no such column.
  const rows = await session.run<{ name: string; digest: string; min_version: string | null }>(
    'schema-applied',
    `SELECT name, digest, to_jsonb(applied) ->> 'min_version' AS min_version
     FROM schema_migrations AS applied ORDER BY name`,
  );
  return rows.map(({ name, digest, min_version }) => ({ name, digest, minVersion: min_version }));
}

/** Throws when the schema is not one that this version can run on; returns what it does not know of it. */
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

/** A version that is not numbers separated by dots is at least nothing, and nothing is at least it. */
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
