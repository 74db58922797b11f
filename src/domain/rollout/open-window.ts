/** When a rollout may start machines: inside one of its windows, and on none of its black-out days. */
import type { Blackout, Weekday, Window } from './spec/rollout-spec.ts';

export interface Opening {
  readonly windows: readonly Window[];
  readonly blackouts: readonly Blackout[];
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** A day of every week first, which is nearly always enough: reading a clock of another time zone costs something. */
const LOOK_AHEAD = [
  [0, 9],
  [8, 400],
] as const;
const WEEKDAYS: readonly Weekday[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

export function isOpenAt({ windows, blackouts }: Opening, now: Date): boolean {
  if (blackouts.some((blackout) => isDuring(blackout, now))) return false;
  return windows.length === 0 || windows.some((window) => isInside(window, now));
}

/** Now where it is open; null: there is no start of a window within the next 400 days that is open. */
export function nextOpening(opening: Opening, now: Date): Date | null {
  if (isOpenAt(opening, now)) return now;
  const ends = opening.blackouts.flatMap(({ to, timeZone }) => instantsOf(addDays(to, 1), 0, timeZone));
  for (const [first, last] of LOOK_AHEAD) {
    const starts = opening.windows.flatMap((window) => startsOf(window, now, { first, last }));
    const next = [...starts, ...ends]
      .filter((at) => at > now.getTime())
      .sort((left, right) => left - right)
      .find((at) => isOpenAt(opening, new Date(at)));
    if (next !== undefined) return new Date(next);
  }
  return null;
}

/** The first time after `now`, at which it is open, at which it is not; null: it stays open. */
export function nextClosing(opening: Opening, now: Date): Date | null {
  const ends = opening.windows.flatMap(({ to, timeZone }) => {
    const today = localTime(now, timeZone).date;
    // What is open for longer than every day of a week is always open, but for black-out days.
    return Array.from({ length: 9 }, (_, ahead) => addDays(today, ahead)).flatMap((date) =>
      instantsOf(date, to, timeZone),
    );
  });
  const blackouts = opening.blackouts.flatMap(({ from, timeZone }) => instantsOf(from, 0, timeZone));
  const next = [...ends, ...blackouts]
    .filter((at) => at > now.getTime())
    .sort((left, right) => left - right)
    .find((at) => !isOpenAt(opening, new Date(at)));
  return next === undefined ? null : new Date(next);
}

interface Days {
  readonly first: number;
  readonly last: number;
}

function startsOf({ days, from, to, timeZone }: Window, now: Date, { first, last }: Days): number[] {
  const today = localTime(now, timeZone).date;
  return Array.from({ length: last - first }, (_, ahead) => addDays(today, first + ahead))
    .filter((date) => isOn(days, date) || (to <= from && isOn(days, addDays(date, -1))))
    .flatMap((date) => instantsOf(date, from, timeZone));
}

/** A window whose end is not after its start ends on the next day, and belongs to the day of its start. */
function isInside({ days, from, to, timeZone }: Window, now: Date): boolean {
  const { date, minutes } = localTime(now, timeZone);
  if (from < to) return isOn(days, date) && minutes >= from && minutes < to;
  return (isOn(days, date) && minutes >= from) || (isOn(days, addDays(date, -1)) && minutes < to);
}

function isDuring({ from, to, timeZone }: Blackout, now: Date): boolean {
  const { date } = localTime(now, timeZone);
  return date >= from && date <= to;
}

function isOn(days: readonly Weekday[], date: string): boolean {
  const day = WEEKDAYS[new Date(`${date}T00:00:00Z`).getUTCDay()];
  return days.length === 0 || (day !== undefined && days.includes(day));
}

function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

interface LocalTime {
  /** YYYY-MM-DD */
  readonly date: string;
  readonly minutes: number;
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: timeZone === '' ? 'UTC' : timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  FORMATS.set(timeZone, format);
  return format;
}

function localTime(at: Date, timeZone: string): LocalTime {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  return {
    date: `${parts.year}-${parts.month}-${parts.day}`,
    minutes: Number(parts.hour) * 60 + Number(parts.minute),
  };
}

/**
 * When a clock shows this time, in milliseconds since 1970. Around a change of the clocks there are more answers: both times
 * at which it may be shown, and the change itself, at which a time that is skipped has passed and one that is repeated
 * returns. The caller asks of each whether it is open.
 */
function instantsOf(date: string, minutes: number, timeZone: string): number[] {
  const shown = Date.parse(`${date}T00:00:00Z`) + minutes * MINUTE_MS;
  const before = offsetAt(shown - DAY_MS, timeZone);
  const after = offsetAt(shown + DAY_MS, timeZone);
  if (before === after) return [shown - before];
  return [shown - before, shown - after, changeAfter(shown - DAY_MS, shown + DAY_MS, timeZone)];
}

/** By how much the clock of a time zone is ahead of UTC. */
function offsetAt(at: number, timeZone: string): number {
  const { date, minutes } = localTime(new Date(at), timeZone);
  return Date.parse(`${date}T00:00:00Z`) + minutes * MINUTE_MS - at;
}

/** The first minute at which the offset is not that of `from` any more; it is another one at `to`. */
function changeAfter(from: number, to: number, timeZone: string): number {
  const before = offsetAt(from, timeZone);
  let [same, other] = [from, to];
  while (other - same > MINUTE_MS) {
    const middle = same + Math.floor((other - same) / MINUTE_MS / 2) * MINUTE_MS;
    if (offsetAt(middle, timeZone) === before) same = middle;
    else other = middle;
  }
  return other;
}
