/**
 * Compares two clocks over a connection. A reading was taken somewhere between its request and its arrival, so the difference
 * between database time and monotonic time is known as a range. Ranges that do not overlap prove a step, however slow the
 * connection is.
 */

/** One reading of the database's clock, and the monotonic times at which it was asked for and arrived. */
export interface ClockReading {
  readonly databaseMs: number;
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** Database time minus monotonic time, in milliseconds. */
export interface OffsetRange {
  readonly low: number;
  readonly high: number;
}

/** How much a range may grow from one reading to the next: a clock that is slewed moves a little. */
const SLEW_MS = 1;

export function offsetOf({ databaseMs, askedAt, answeredAt }: ClockReading, steppedMs: number): OffsetRange {
  return { low: databaseMs - answeredAt - steppedMs, high: databaseMs - askedAt - steppedMs };
}

export function middleOf({ low, high }: OffsetRange): number {
  return (low + high) / 2;
}

/** By how much the clock was stepped, negative for back; 0 when that is not certain or not more than the tolerance. */
export function stepBetween(known: OffsetRange, seen: OffsetRange, toleranceMs: number): number {
  const gap = seen.low > known.high ? seen.low - known.high : Math.min(0, seen.high - known.low);
  return Math.abs(gap) <= toleranceMs ? 0 : Math.round(middleOf(seen) - middleOf(known));
}

/** The range after another reading without a step. */
export function narrowed(known: OffsetRange, seen: OffsetRange): OffsetRange {
  const low = Math.max(known.low - SLEW_MS, seen.low);
  const high = Math.min(known.high + SLEW_MS, seen.high);
  return low <= high ? { low, high } : seen;
}
