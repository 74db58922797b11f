import { describe, expect, it } from 'vitest';
import { categoryOf, compareLog, credibleTime, entryKey, type LogEntry, UNREAD_LOG } from './hardware-log.ts';

const entry = (id: string, message = 'Fan 1 failed'): LogEntry => ({
  id,
  at: new Date('2026-01-01T00:00:00Z'),
  severity: 'Critical',
  message,
  sensor: '',
});
const found = (entries: readonly LogEntry[], isComplete = true) =>
  ({ state: 'read', fingerprint: 'f', count: entries.length, entries, isComplete }) as const;
const known = (entries: readonly LogEntry[]) => ({
  fingerprint: 'e',
  count: entries.length,
  newest: entries.length === 0 ? '' : entryKey(entries.at(-1) as LogEntry),
});

describe('a log', () => {
  it('was not cleared at its first reading, nor when entries were added or the oldest dropped', () => {
    expect(compareLog(UNREAD_LOG, found([entry('1')])).cleared).toBeNull();
    expect(compareLog(known([entry('1')]), found([entry('1'), entry('2')])).cleared).toBeNull();
    expect(compareLog(known([entry('1'), entry('2')]), found([entry('2'), entry('3')])).cleared).toBeNull();
  });

  it('was cleared when its newest entry is gone, also where new ones have come', () => {
    const before = known([entry('1'), entry('2')]);
    expect(compareLog(before, found([])).cleared).toEqual({ entries: 2 });
    const after = [entry('1', 'Another'), entry('2', 'Another'), entry('3', 'Another')];
    expect(compareLog(before, found(after)).cleared).toEqual({ entries: 2 });
  });

  it('was not cleared for all we know when only a part of it was read, and it has not shrunk', () => {
    const before = known([entry('1')]);
    expect(compareLog(before, { ...found([entry('9')], false), count: 300 }).cleared).toBeNull();
  });
});

it.each([
  ['Memory #0x53', 'Correctable ECC', 'memory_correctable'],
  ['Memory #0x53', 'Uncorrectable ECC', 'memory_uncorrectable'],
  ['', 'Multi-bit memory errors detected on a memory device at location(s) DIMM_A3.', 'memory_uncorrectable'],
  ['', 'Correctable memory error logging disabled for a memory device', 'memory_correctable'],
  ['Watchdog2 #0x10', 'Hard reset', 'reboot'],
  ['', 'A runtime critical stop occurred', 'reboot'],
  ['Power Unit #0x11', 'AC lost', 'power'],
  ['Temperature #0x01', 'Upper Critical going high', 'thermal'],
  ['', 'Drive 3 is removed from disk drive bay 1', 'drive'],
  ['System NIC', '[LAN-0005] Dedicated LAN Link Up', 'other'],
] as const)('%s %s is of the category %s', (sensor, message, category) => {
  expect(categoryOf({ sensor, message })).toBe(category);
});

it('does not believe a clock that was not set', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  expect(credibleTime(new Date('1970-01-01T00:04:00Z'), now)).toBeNull();
  expect(credibleTime(new Date('2036-01-01T00:00:00Z'), now)).toBeNull();
  expect(credibleTime(undefined, now)).toBeNull();
  expect(credibleTime(new Date('2026-05-31T23:00:00Z'), now)).toEqual(new Date('2026-05-31T23:00:00Z'));
});
