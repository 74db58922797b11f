/** Where the bars of the steps lie: on one line of time, from the first beginning to the last end or now. */

export interface TimedStep {
  readonly startedAt: number | null;
  /** Of a step that was undone: when that was over. */
  readonly finishedAt: number | null;
  readonly wasUndone: boolean;
}

export interface Bar {
  /** In percent of the whole. */
  readonly left: number;
  readonly width: number;
  readonly durationMs: number;
}

export interface Timeline {
  readonly totalMs: number;
  /** Null for a step that has not begun. */
  readonly bars: readonly (Bar | null)[];
}

/** What took next to no time can still be seen. */
const NARROWEST = 0.6;

export function timelineOf(steps: readonly TimedStep[], now: number): Timeline {
  const spans = steps.map(({ startedAt, finishedAt, wasUndone }, place) => {
    if (startedAt === null) return null;
    // One that was undone had ended when the next one began.
    const next = wasUndone ? steps[place + 1]?.startedAt : null;
    return { from: startedAt, to: Math.max(startedAt, next ?? finishedAt ?? now) };
  });
  const begun = spans.filter((span) => span !== null);
  const first = Math.min(...begun.map(({ from }) => from));
  const totalMs = begun.length === 0 ? 0 : Math.max(...begun.map(({ to }) => to)) - first;
  const percent = (ms: number) => (totalMs === 0 ? 0 : (100 * ms) / totalMs);
  const bars = spans.map((span) => {
    if (span === null) return null;
    const durationMs = span.to - span.from;
    const width = totalMs === 0 ? 100 : Math.max(NARROWEST, percent(durationMs));
    return { left: Math.min(percent(span.from - first), 100 - width), width, durationMs };
  });
  return { totalMs, bars };
}
