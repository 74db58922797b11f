import fc from 'fast-check';
import pg from 'pg';
import { expect, test } from 'vitest';
import { jsonTimestamp, utcTimestamp } from './timestamp.ts';

/** As PostgreSQL writes it. */
function written(at: Date, micros: number): string {
  const [date, time] = at.toISOString().slice(0, -1).split('T');
  const fraction = `${time?.slice(9)}${String(micros).padStart(3, '0')}`.replace(/0+$/, '');
  return `${date} ${time?.slice(0, 8)}${fraction === '' ? '' : `.${fraction}`}+00`;
}

test('a time in UTC is read to the millisecond', () => {
  const time = fc.date({ min: new Date('0100-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(time, fc.nat(999), (at, micros) => {
      expect(utcTimestamp(written(at, micros))).toEqual(at);
    }),
  );
});

test('a time in JSON is read to the millisecond, in any zone', () => {
  const time = fc.date({ min: new Date('0100-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(time, fc.nat(999), (at, micros) => {
      const inUtc = written(at, micros).replace(' ', 'T');
      expect(jsonTimestamp(`${inUtc}:00`)).toEqual(at);
      expect(jsonTimestamp(inUtc.replace(/\+00$/, '+05:30')).getTime()).toBe(at.getTime() - 19_800_000);
    }),
  );
});

test.each([
  '2026-11-18 19:33:07+01',
  '2026-11-18 19:33:07.5+05:30',
  '2026-11-18 19:33:07-00',
  '0044-03-15 12:00:00+00 BC',
  '0044-03-15 12:00:00+00',
  '12026-11-18 19:33:07+00',
  'infinity',
  '-infinity',
  '',
  '2026-11-18T19:33:07.123Z',
  '2026-11-18 19:33:07x123+00',
])('%s is left to the library', (text) => {
  expect(utcTimestamp(text)).toBeNull();
});

test('the parser of the driver uses it, and the library for the rest', async () => {
  await import('./database.ts');
  const parse = pg.types.getTypeParser(1184);
  expect(parse('2026-11-18 19:33:07.289+00')).toEqual(new Date('2026-11-18T19:33:07.289Z'));
  expect(parse('2026-11-18 19:33:07.5+05:30')).toEqual(new Date('2026-11-18T14:03:07.500Z'));
  expect(parse('infinity')).toBe(Number.POSITIVE_INFINITY);
});
