import { describe, expect, it } from 'vitest';
import { checkFilter } from '../../domain/filter/check.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { sampleSchema } from '../../domain/filter/sample-filter.fixture.ts';
import { SAMPLE_COLUMNS } from './sample-columns.fixture.ts';
import { filterToSql } from './to-sql.ts';

const toSql = (text: string, firstParameter = 1) =>
  filterToSql(checkFilter(parseFilter(text), sampleSchema), SAMPLE_COLUMNS, firstParameter);

describe('filterToSql', () => {
  it.each([
    ['', 'TRUE', []],
    ['name=a', '((name) = $1::text)', ['a']],
    ['name!=a', '(((name) = $1::text) IS NOT TRUE)', ['a']],
    ['name>a', '((name) COLLATE "C" > $1::text)', ['a']],
    ['name="50%_\\\\*"', '((name) LIKE $1::text)', ['50\\%\\_\\\\%']],
    ['name:a', '((name) LIKE $1::text)', ['%a%']],
    ['name:*', '((name) IS NOT NULL)', []],
    ['name!=""', "((name) <> '')", []],
    ['name=""', "(((name) <> '') IS NOT TRUE)", []],
    ['phase=ready', '((phase) = $1::text)', ['READY']],
    ['phase=*ready', '((phase) = ANY($1::text[]))', [['FACTORY_READY', 'READY']]],
    ['attempts>=3', '((attempts) >= $1::bigint)', [3]],
    ['ready=true', '((ready))', []],
    ['ready=false', '((ready) IS FALSE)', []],
    ['pools:a', '((pools) @> $1::text[])', [['a']]],
    ['labels.rack=r42', '((labels) @> $1::jsonb)', ['{"rack":"r42"}']],
    ['labels.rack:*', '((labels) ? $1::text)', ['rack']],
    ['labels.rack:r', '(((labels) ->> $1::text) LIKE $2::text)', ['rack', '%r%']],
    ['labels.rack=r*', '(((labels) ->> $1::text) LIKE $2::text)', ['rack', 'r%']],
    ['conditions.RMA=true', "(((conditions ->> 'RMA')::boolean))", []],
  ])('%s', (text, expected, values) => {
    expect(toSql(text)).toEqual({ text: expected, values });
  });

  it('compares time by the millisecond and leaves the column alone', () => {
    expect(toSql('status.seen_at>2026-01-01T00:00:00Z')).toEqual({
      text: '((seen_at) >= $1::timestamptz)',
      values: ['2026-01-01T00:00:00.001Z'],
    });
  });

  it('numbers parameters from the given one on', () => {
    expect(toSql('name=a AND (attempts=1 OR labels.rack<r9)', 4)).toEqual({
      text: '(((name) = $4::text) AND (((attempts) = $5::bigint) OR (((labels) ->> $6::text) COLLATE "C" < $7::text)))',
      values: ['a', 1, 'rack', 'r9'],
    });
  });

  it('never puts what the caller wrote into the text', () => {
    const { text } = toSql(
      `name="zzz'" name>"zzz" name:"zzz*" pools:"zzz" labels."zzz"="zzz" labels."zzz'":zzz`,
    );
    expect(text).not.toContain('zzz');
  });
});
