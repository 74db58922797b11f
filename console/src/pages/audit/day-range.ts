/** The time that the audit log is read for, as a filter. Days begin at midnight of the zone that times are shown in. */
import { allOf } from '../../../../src/client/filter-text.ts';
import { quoted } from '../../pages.ts';
import { clockText, type Zone } from '../../ui/clock-text.ts';

export const RANGES = {
  '': 'Any time',
  today: 'Today',
  yesterday: 'Yesterday',
  week: 'Last 7 days',
  between: 'Between days',
} as const;
export type Range = keyof typeof RANGES;

/** Days as fields of dates give them, the last one included; empty: no limit. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

export function rangeFilter(range: Range, days: Days, now: number, zone: Zone): string {
  const today = clockText(now, zone).slice(0, 10);
  const since = (day: string, later = 0) => `at >= ${instant(midnightOf(day, later, zone))}`;
  const before = (day: string, later = 0) => `at < ${instant(midnightOf(day, later, zone))}`;
  switch (range) {
    case '':
      return '';
    case 'today':
      return since(today);
    case 'yesterday':
      return allOf([since(today, -1), before(today)]);
    case 'week':
      return since(today, -6);
    case 'between':
      return allOf([days.from && since(days.from), days.to && before(days.to, 1)]);
  }
}

function instant(ms: number): string {
  return quoted(new Date(ms).toISOString());
}

/** The midnight so many days after the one that the day begins with. Days of a zone may have 23 or 25 hours. */
function midnightOf(day: string, later: number, zone: Zone): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return zone === 'utc'
    ? Date.UTC(year, month - 1, date + later)
    : new Date(year, month - 1, date + later).getTime();
}
