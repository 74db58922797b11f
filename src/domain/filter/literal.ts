/** Parses a value as the type of its field; undefined when it is not one. */

const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** The years 1 to 9999 in UTC, less the last millisecond: filterToSql also writes the millisecond after a bound. */
const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.998Z');

/** Milliseconds since 1970; finer digits are dropped. */
export function readTimestamp(text: string): number | undefined {
  const parts = RFC_3339.exec(text);
  if (parts === null || Number(parts[3]) > daysInMonth(Number(parts[1]), Number(parts[2]))) return undefined;
  const at = Date.parse(text.toUpperCase());
  return at >= EARLIEST && at <= LATEST ? at : undefined;
}

function daysInMonth(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return [0, 31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month] ?? 0;
}

export function readInteger(text: string): number | undefined {
  const value = /^-?\d+$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(value) ? value : undefined;
}

export function readBoolean(text: string): boolean | undefined {
  const word = text.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : undefined;
}
