/**
 * Times: relative ones, which one timer updates, and those of a clock, in the zone that the user chose. The tooltip has the
 * other zone.
 */
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import { useSyncExternalStore } from 'react';
import { clockText, clockWithZone, type Zone } from './clock-text.ts';
import { useZone } from './zone.ts';

const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setTimeout> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const notify of listeners) notify();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** In the two largest units: 1 d 3 h, 4 min 32 s, 12 s. */
export function durationText(ms: number): string {
  let rest = Math.max(0, Math.round(ms / 1000));
  const parts: string[] = [];
  for (const [name, seconds] of UNITS) {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    if (count > 0 || (parts.length === 0 && name === 's')) parts.push(`${count} ${name}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

/** In the largest unit only, for columns that should not flicker. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [name, size] = UNITS.find(([, unit]) => seconds >= unit) ?? ['s', 1];
  return `${Math.floor(seconds / size)} ${name}`;
}

export function msOf(at: Timestamp | undefined): number | null {
  return at ? timestampDate(at).getTime() : null;
}

function otherZone(zone: Zone): Zone {
  return zone === 'utc' ? 'local' : 'utc';
}

/** The date and time of a clock, such as 2026-03-14 09:26:53. */
export function Clock({ at }: { at: Timestamp | number | undefined }) {
  const zone = useZone();
  const ms = typeof at === 'number' ? at : msOf(at);
  if (ms === null) return <span className="soft">–</span>;
  return (
    <time
      dateTime={new Date(ms).toISOString()}
      title={clockWithZone(ms, otherZone(zone))}
      className="numeric"
    >
      {clockText(ms, zone)}
    </time>
  );
}

/** The tooltip of a relative time: both zones, that of the user first. */
function useClockTitle(): (ms: number) => string {
  const zone = useZone();
  return (ms) => `${clockWithZone(ms, zone)}\n${clockWithZone(ms, otherZone(zone))}`;
}

export function Age({ at, suffix = ' ago' }: { at: Timestamp | number | undefined; suffix?: string }) {
  const current = useNow();
  const title = useClockTitle();
  const ms = typeof at === 'number' ? at : msOf(at);
  if (ms === null) return <span className="soft">–</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={title(ms)} className="numeric">
      {ageText(current - ms)}
      {suffix}
    </time>
  );
}

/** How long it is until then. */
export function TimeLeft({ until }: { until: Timestamp | undefined }) {
  const current = useNow();
  const title = useClockTitle();
  const ms = msOf(until);
  if (ms === null) return <span className="soft">–</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={title(ms)} className="numeric">
      {durationText(ms - current)}
    </time>
  );
}

/** The duration until `to`, or until now if it is not set. */
export function Duration({ from, to }: { from: Timestamp | undefined; to: Timestamp | undefined }) {
  const current = useNow();
  const start = msOf(from);
  if (start === null) return <span className="soft">–</span>;
  return <span className="numeric">{durationText((msOf(to) ?? current) - start)}</span>;
}
