/**
 * Seconds since 1970 as texts. A page has hundreds of times, and most are of a few days: the text of a day is kept, and that of
 * the time within it is put together from two digits each.
 */

const SECONDS_OF_DAY = 86_400;
const MOST_DAYS = 1_000;
const TWO_DIGITS = Array.from({ length: 60 }, (_none, number) => String(number).padStart(2, '0'));

const days = new Map<number, string>();

/** `2026-11-18T19:33:07`, in UTC; of the years 1 to 9999. */
export function secondText(seconds: number): string {
  const day = Math.floor(seconds / SECONDS_OF_DAY);
  const rest = seconds - day * SECONDS_OF_DAY;
  const minutes = Math.floor(rest / 60);
  const hour = TWO_DIGITS[Math.floor(minutes / 60)];
  return `${dayText(day)}T${hour}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[rest % 60]}`;
}

function dayText(day: number): string {
  const known = days.get(day);
  if (known !== undefined) return known;
  const text = new Date(day * SECONDS_OF_DAY * 1000).toISOString().slice(0, 10);
  if (days.size >= MOST_DAYS) days.clear();
  days.set(day, text);
  return text;
}
