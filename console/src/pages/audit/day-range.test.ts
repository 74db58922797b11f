import { afterEach, expect, it, vi } from 'vitest';
import { rangeFilter } from './day-range.ts';

const DAYS = { from: '', to: '' };
afterEach(() => vi.unstubAllEnvs());

it('yesterday is a day of the zone, also where it had 25 hours', () => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  const now = Date.parse('2026-10-26T08:00:00+01:00');
  expect(rangeFilter('yesterday', DAYS, now, 'local')).toBe(
    '(at >= "2026-10-24T22:00:00.000Z") AND (at < "2026-10-25T23:00:00.000Z")',
  );
  expect(rangeFilter('week', DAYS, now, 'local')).toBe('at >= "2026-10-19T22:00:00.000Z"');
});

it('in UTC it is another one', () => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  const now = Date.parse('2026-10-26T00:30:00+01:00');
  expect(rangeFilter('today', DAYS, now, 'utc')).toBe('at >= "2026-10-25T00:00:00.000Z"');
  expect(rangeFilter('today', DAYS, now, 'local')).toBe('at >= "2026-10-25T23:00:00.000Z"');
});

it('days are both included', () => {
  expect(rangeFilter('between', { from: '2026-03-01', to: '2026-03-02' }, 0, 'utc')).toBe(
    '(at >= "2026-03-01T00:00:00.000Z") AND (at < "2026-03-03T00:00:00.000Z")',
  );
  expect(rangeFilter('', DAYS, 0, 'utc')).toBe('');
});
