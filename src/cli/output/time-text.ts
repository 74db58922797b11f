import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };

/** Parses 500ms, 30s, 5m, 1h, 1h30m or 30d; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (UNITS[unit ?? ''] ?? 0);
  }
  return total;
}

/** 0.4s, 12s, 4m 32s, 1h 5m */
export function durationText(ms: number): string {
  if (ms < SECOND) return `${(Math.max(0, ms) / SECOND).toFixed(1)}s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m ${Math.floor((ms % MINUTE) / SECOND)}s`;
  return `${Math.floor(ms / HOUR)}h ${Math.floor((ms % HOUR) / MINUTE)}m`;
}

/** One number and one unit: 5s, 3m, 4h, 2d. */
export function ageText(since: Timestamp | undefined, now: number): string {
  if (since === undefined) return '';
  const ms = Math.max(0, now - timestampMs(since));
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`;
  return `${Math.floor(ms / DAY)}d`;
}

/** 10:00:01 in local time. */
export function clockText(at: Timestamp | undefined): string {
  return at === undefined ? '--:--:--' : clockOf(timestampMs(at));
}

/** The same of a time in milliseconds. */
export function clockOf(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}

export function instantText(at: Timestamp | undefined): string {
  return at === undefined ? '' : new Date(timestampMs(at)).toISOString().replace(/\.\d+Z$/, 'Z');
}
