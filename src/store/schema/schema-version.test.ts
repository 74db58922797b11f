import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { readMigrations } from './migration-files.ts';
import { checkSchema, isAtLeast } from './schema-version.ts';

const LAST_WITHOUT_MIN_VERSION = '0007-metric-samples.sql';
const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const known = [{ name: '0001-a.sql', text: '', digest: 'a', minVersion: null }];
const applied = (name: string, minVersion: string | null, digest = 'a') => ({ name, digest, minVersion });

describe('the migrations of this version', () => {
  const files = readMigrations();

  it('declare a min_version that this version has reached, except those released before there was one', () => {
    const undeclared = files.filter(
      ({ minVersion }) => minVersion === null || !isAtLeast(version, minVersion),
    );
    expect(
      undeclared.map(({ name }) => name).filter((name) => name > LAST_WITHOUT_MIN_VERSION),
      'these need a line "-- min_version: <oldest version that runs on the schema after it>"',
    ).toEqual([]);
  });

  it('have numbers of their own', () => {
    const numbers = files.map(({ name }) => name.slice(0, 4));
    expect(new Set(numbers).size).toBe(numbers.length);
  });
});

describe('a schema with a migration that this version does not know', () => {
  it('is refused unless it says that this version is new enough', () => {
    const schema = (minVersion: string | null) => [
      applied('0001-a.sql', null),
      applied('0002-b.sql', minVersion),
    ];
    expect(checkSchema(schema('0.1.0'), known, '0.1.0')).toEqual(['0002-b.sql']);
    expect(checkSchema(schema('0.1.0'), known, '1.0.0')).toEqual(['0002-b.sql']);
    expect(() => checkSchema(schema('0.2.0'), known, '0.1.9')).toThrow(
      "the database's schema is newer than this Ingot: it has migration 0002-b.sql, which needs Ingot 0.2.0 or later " +
        '(min_version); this is 0.1.9. Start a newer version here',
    );
    expect(() => checkSchema(schema(null), known, '9.0.0')).toThrow('declares no min_version; this is 9.0.0');
    expect(() => checkSchema(schema('0.1.0'), known, 'unknown')).toThrow('this is unknown');
  });

  it('is refused by the newest one that asks for more', () => {
    const schema = [
      applied('0002-b.sql', '0.3.0'),
      applied('0003-c.sql', '0.2.0'),
      applied('0004-d.sql', '0.1.0'),
    ];
    expect(() => checkSchema(schema, known, '0.1.0')).toThrow('0003-c.sql, which needs Ingot 0.2.0');
    expect(() => checkSchema(schema, known, '0.2.0')).toThrow('0002-b.sql, which needs Ingot 0.3.0');
  });
});

test('versions are compared by their numbers', () => {
  expect(isAtLeast('0.10.0', '0.9.9')).toBe(true);
  expect(isAtLeast('1.0.0', '0.9.9')).toBe(true);
  expect(isAtLeast('0.9.9', '0.10.0')).toBe(false);
  expect(isAtLeast('1.2.3-rc.1', '1.2.3')).toBe(true);
  expect(isAtLeast('1.2.3', '1.2.4')).toBe(false);
  expect(isAtLeast('1.2', '1.1.0')).toBe(false);
});
