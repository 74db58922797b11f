/** Durations as people write them: 30s, 5m, 2h, 1d, or several in a row, such as 1h30m. */
import { invalidField } from '../../error/fault.ts';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

const WRITTEN = /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?$/;
const LONGEST_MS = 366 * 86_400_000;

/** Milliseconds. */
export function readDuration(text: string, field: string): number {
  const parts = WRITTEN.exec(text.trim());
  if (text.trim() === '' || !parts) throw invalidField(field, 'must be a duration such as 30s, 5m, 2h or 1d');
  const total = UNITS.reduce((sum, [, unit], index) => sum + Number(parts[index + 1] ?? 0) * unit, 0);
  if (total > LONGEST_MS) throw invalidField(field, 'must be at most 366d');
  return total;
}

/** In the largest unit that says it exactly. */
export function durationText(ms: number): string {
  const [name, unit] = UNITS.find(([, size]) => ms > 0 && ms % size === 0) ?? ['s', 1_000];
  return `${Math.round(ms / unit)}${name}`;
}
