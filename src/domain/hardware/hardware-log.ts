/**
 * The log that a BMC keeps of its machine (SEL, IML, Health Event Log), and what is new in it. An entry is known by its id, time and
 * text together: ids start again when a log is cleared, and clocks of BMCs are set back.
 */
import type { Health } from './sensor.ts';

export interface LogEntry {
  readonly id: string;
  /** As the BMC says it; absent where it does not, or before its clock was set. */
  readonly at?: Date;
  readonly severity: Health;
  readonly message: string;
  /** What the entry is about, as the BMC names it. */
  readonly sensor: string;
}

/** What one reading of the log found. */
export type LogReading =
  /** It is as it was at the last reading. */
  | { readonly state: 'unchanged'; readonly fingerprint: string }
  | {
      readonly state: 'read';
      readonly fingerprint: string;
      /** How many entries the BMC says that it has. */
      readonly count: number;
      /** The oldest first. */
      readonly entries: readonly LogEntry[];
      /** Whether `entries` are all of them. */
      readonly isComplete: boolean;
    };

/** What is known of a machine's log from the last reading. */
export interface KnownLog {
  /** Differs when the log has changed; empty: it was never read. */
  readonly fingerprint: string;
  readonly count: number;
  /** The key of the newest entry; empty: there was none. */
  readonly newest: string;
}

export const UNREAD_LOG: KnownLog = { fingerprint: '', count: 0, newest: '' };

export function entryKey({ id, at, message }: LogEntry): string {
  return `${id}/${at?.toISOString() ?? ''}/${message}`.slice(0, 200);
}

export interface LogNews {
  /** The log was cleared since the last reading, and how many entries it had. */
  readonly cleared: { readonly entries: number } | null;
  readonly known: KnownLog;
}

/** A log that no longer has the newest entry that it had was cleared. */
export function compareLog(before: KnownLog, found: LogReading & { readonly state: 'read' }): LogNews {
  const { fingerprint, count, entries, isComplete } = found;
  const keys = entries.map(entryKey);
  const isGone = before.newest !== '' && !keys.includes(before.newest);
  const wasCleared = isGone && (isComplete || count < before.count);
  return {
    cleared: wasCleared ? { entries: before.count } : null,
    known: { fingerprint, count, newest: keys.at(-1) ?? '' },
  };
}

/** What an entry means for the machine. The first row that matches counts. */
const CATEGORIES = {
  memory_uncorrectable: {
    one: 'uncorrectable memory error',
    many: 'uncorrectable memory errors',
    pattern: /uncorrectable (?:\w+ ){0,3}(?:ecc|memory|error)|multi-bit|mem0001|\bUE\b.*(?:dimm|memory)/i,
  },
  memory_correctable: {
    one: 'correctable memory error',
    many: 'correctable memory errors',
    pattern:
      /correctable (?:\w+ ){0,3}(?:ecc|memory|error)|single-bit|memory.*(?:threshold|logging limit)|\becc\b/i,
  },
  reboot: {
    one: 'reset that no one asked for',
    many: 'resets that no one asked for',
    pattern:
      /watchdog.*(?:reset|power|expired)|hard reset|critical stop|os stop|kernel panic|bugcheck|unexpected(?:ly)? (?:re(?:boot|set|start)|shut)|machine check|\bIERR\b|CATERR/i,
  },
  power: {
    one: 'power failure',
    many: 'power failures',
    pattern:
      /ac lost|power (?:supply|input|unit).*(?:fail|lost|absent)|(?:failure|loss).*power|redundancy (?:lost|degraded)/i,
  },
  thermal: {
    one: 'thermal entry',
    many: 'thermal entries',
    pattern: /temperature|thermal|overheat|\bfan\b/i,
  },
  drive: {
    one: 'drive entry',
    many: 'drive entries',
    pattern: /drive|disk|\bssd\b|nvme|raid|predictive failure/i,
  },
  other: { one: 'other entry', many: 'other entries', pattern: /(?:)/ },
} as const satisfies Record<string, { one: string; many: string; pattern: RegExp }>;

export type LogCategory = keyof typeof CATEGORIES;
const LOG_CATEGORIES = Object.keys(CATEGORIES) as LogCategory[];

export function categoryOf({ message, sensor }: Pick<LogEntry, 'message' | 'sensor'>): LogCategory {
  const text = `${sensor} ${message}`;
  return LOG_CATEGORIES.find((name) => CATEGORIES[name].pattern.test(text)) ?? 'other';
}

/** Clocks of BMCs start at 1970 or run years ahead: such a time says nothing. */
const OLDEST_TIME = Date.UTC(2005, 0);
const DAY_MS = 86_400_000;

export function credibleTime(at: Date | undefined, now: Date): Date | null {
  if (at === undefined || Number.isNaN(at.getTime())) return null;
  return at.getTime() < OLDEST_TIME || at.getTime() > now.getTime() + DAY_MS ? null : at;
}
