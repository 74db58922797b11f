/** What ipmitool prints of indicator, log, power and users. */
import type { PowerReading } from '../../../domain/hardware/power-reading.ts';

/** `chassis status`; a BMC that does not support it leaves the line out. */
export function parseIndicator(text: string): 'on' | 'off' | 'unknown' {
  const [, state] = /^ *Chassis Identify State *: *(.*?) *$/m.exec(text) ?? [];
  if (state === undefined) return 'unknown';
  return /^off$/i.test(state) ? 'off' : 'on';
}

/** `sel info` */
export function parseLogEntries(text: string): number | null {
  const [, count] = /^ *Entries *: *(\d+)/m.exec(text) ?? [];
  return count === undefined ? null : Number(count);
}

/** `dcmi power reading` and `dcmi power get_limit`; the latter is null where no limit can be set. */
export function parsePowerReading(reading: string, limit: string | null): PowerReading {
  const [, watts] = /Instantaneous power reading *: *(\d+) *Watts/i.exec(reading) ?? [];
  const isActive = limit !== null && /Current Limit State *: *Power Limit Active/i.test(limit);
  const [, capped] = /Power Limit *: *(\d+) *Watts/i.exec(limit ?? '') ?? [];
  return {
    watts: watts === undefined ? null : Number(watts),
    limitWatts: isActive && capped !== undefined ? Number(capped) : null,
    capacityWatts: null,
    lowestLimitWatts: null,
    highestLimitWatts: null,
    limitAt: limit === null ? null : 'DCMI',
  };
}

/** `user list`: its columns are of fixed width, and a name may have spaces in it. */
export function parseUserId(text: string, user: string): number | null {
  const found = text.split('\n').flatMap((line) => {
    const [, id, name = ''] = /^(\d{1,2}) +(.*?)\s+(?:true|false)\s/.exec(line) ?? [];
    return id !== undefined && name === user ? [Number(id)] : [];
  });
  return found[0] ?? null;
}
