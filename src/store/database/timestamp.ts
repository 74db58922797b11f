/**
 * Times as PostgreSQL writes them in UTC, such as `2026-11-18 19:33:07.449123+00`, without a regular expression: every row of a machine
 * or an operation has several. Null: a text of any other form, such as one of another zone, before Christ, or `infinity`.
 */
export function utcTimestamp(text: string): Date | null {
  const end = text.length - 3;
  return text.charCodeAt(10) === SPACE && text.charCodeAt(end) === PLUS && text.endsWith('00')
    ? timestampUntil(text, end)
    : null;
}

/** Times as PostgreSQL writes them in JSON, such as `2026-11-18T19:33:07.449123+00:00`, in any zone. */
export function jsonTimestamp(text: string): Date {
  const inUtc = text.endsWith('+00:00') ? timestampUntil(text, text.length - 6) : null;
  return inUtc ?? new Date(text);
}

/** The zone begins at `end`. */
function timestampUntil(text: string, end: number): Date | null {
  if (end < 19 || end > 26 || text.charCodeAt(4) !== MINUS) return null;
  const [year, month, day] = [digits(text, 0, 4), digits(text, 5, 7), digits(text, 8, 10)];
  const [hour, minute, second] = [digits(text, 11, 13), digits(text, 14, 16), digits(text, 17, 19)];
  const at = Date.UTC(year, month - 1, day, hour, minute, second, milliseconds(text, end));
  // The years up to 99 mean others to Date.UTC.
  return Number.isNaN(at) || year < 100 ? null : new Date(at);
}

const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const SPACE = 32;

function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

/** PostgreSQL leaves out the zeros at the end of a fraction. */
function milliseconds(text: string, end: number): number {
  if (end === 19) return 0;
  if (text.charCodeAt(19) !== DOT) return Number.NaN;
  const known = Math.min(end, 23);
  return digits(text, 20, known) * 10 ** (23 - known);
}
