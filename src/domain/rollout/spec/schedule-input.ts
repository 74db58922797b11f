/** Checks when a rollout may start machines: windows, and days on which nothing starts. */
import { invalidField, missingField } from '../../error/fault.ts';
import { checkText } from '../../machine/machine-input.ts';
import type { Blackout, Weekday, Window } from './rollout-spec.ts';
import type { WrittenBlackout, WrittenWindow } from './written-spec.ts';

const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const satisfies readonly Weekday[];
const LONG_NAMES = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

const MAX_WINDOWS = 100;
const MAX_BLACKOUTS = 1000;

export function checkWindows(written: readonly WrittenWindow[], field: string): Window[] {
  if (written.length > MAX_WINDOWS) throw invalidField(field, `must be at most ${MAX_WINDOWS}`);
  return written.map((window, index) => checkWindow(window, `${field}[${index}]`));
}

function checkWindow({ days, from, to, timeZone }: WrittenWindow, field: string): Window {
  const named = days.map((day, index) => checkDay(day, `${field}.days[${index}]`));
  return {
    days: WEEKDAYS.filter((day) => named.includes(day)),
    from: checkTimeOfDay(from, `${field}.from`),
    to: checkTimeOfDay(to, `${field}.to`),
    timeZone: checkTimeZone(timeZone, `${field}.time_zone`),
  };
}

function checkDay(text: string, field: string): Weekday {
  const name = text.trim().toLowerCase();
  const day = WEEKDAYS.find((short, index) => name === short || name === LONG_NAMES[index]);
  if (day) return day;
  throw invalidField(field, `must be one of ${WEEKDAYS.join(', ')}`);
}

/** Minutes after midnight; 24:00 is the end of the day. */
function checkTimeOfDay(text: string, field: string): number {
  if (text === '') throw missingField(field);
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(text.trim()) ?? [];
  const total = Number(hours) * 60 + Number(minutes);
  if (hours !== undefined && Number(minutes) < 60 && total <= 24 * 60) return total % (24 * 60);
  throw invalidField(field, 'must be a time of day as HH:MM, such as 09:00');
}

export function timeOfDayText(minutes: number): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** An IANA name. Offsets such as +02:00 are none: they know no summer time. */
function checkTimeZone(text: string, field: string): string {
  const name = text.trim();
  if (name === '') return 'UTC';
  const problem = 'must be an IANA time zone, such as Europe/Berlin';
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) throw invalidField(field, problem);
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return name;
  } catch (error) {
    if (error instanceof RangeError) throw invalidField(field, problem);
    throw error;
  }
}

export function checkBlackouts(written: readonly WrittenBlackout[], field: string): Blackout[] {
  if (written.length > MAX_BLACKOUTS) throw invalidField(field, `must be at most ${MAX_BLACKOUTS}`);
  return written.map((blackout, index) => checkBlackout(blackout, `${field}[${index}]`));
}

function checkBlackout({ from, to, timeZone, reason }: WrittenBlackout, field: string): Blackout {
  const first = checkDate(from, `${field}.from`);
  const last = to === '' ? first : checkDate(to, `${field}.to`);
  if (last < first) throw invalidField(`${field}.to`, `must not be before ${first}`);
  return {
    from: first,
    to: last,
    timeZone: checkTimeZone(timeZone, `${field}.time_zone`),
    reason: checkText(reason, `${field}.reason`, 1000),
  };
}

function checkDate(text: string, field: string): string {
  if (text === '') throw missingField(field);
  const day = text.trim();
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(day);
  const at = new Date(isDay ? `${day}T00:00:00Z` : Number.NaN);
  // 2026-02-30 is read as the 2nd of March.
  if (!Number.isNaN(at.getTime()) && at.toISOString().startsWith(day)) return day;
  throw invalidField(field, 'must be a day as YYYY-MM-DD');
}
