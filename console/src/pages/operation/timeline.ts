/** The positions of the steps' bars on a timeline from the first start to the last end, or now. */

export interface TimedStep {
  readonly startedAt: number | null;
  /** Of a step that was undone: when the undo finished. */
  readonly finishedAt: number | null;
  readonly wasUndone: boolean;
}

export interface Bar {
  /** In percent of the whole. */
  readonly left: number;
  readonly width: number;
  readonly durationMs: number;
  readonly from: number;
  readonly to: number;
}

export interface Timeline {
  readonly totalMs: number;
  /** Null for a step that has not started. */
  readonly bars: readonly (Bar | null)[];
}

/** In percent, so that very short steps are still visible. */
const NARROWEST = 0.6;

export function timelineOf(steps: readonly TimedStep[], now: number): Timeline {
  const spans = steps.map(({ startedAt, finishedAt, wasUndone }, index) => {
    if (startedAt === null) return null;
    // A step that was undone had ended when the next one started.
    const next = wasUndone ? steps[index + 1]?.startedAt : null;
    return { from: startedAt, to: Math.max(startedAt, next ?? finishedAt ?? now) };
  });
  const started = spans.filter((span) => span !== null);
  const first = Math.min(...started.map(({ from }) => from));
  const totalMs = started.length === 0 ? 0 : Math.max(...started.map(({ to }) => to)) - first;
  const percent = (ms: number) => (totalMs === 0 ? 0 : (100 * ms) / totalMs);
  const bars = spans.map((span) => {
    if (span === null) return null;
    const durationMs = span.to - span.from;
    const width = totalMs === 0 ? 100 : Math.max(NARROWEST, percent(durationMs));
    return { left: Math.min(percent(span.from - first), 100 - width), width, durationMs, ...span };
  });
  return { totalMs, bars };
}
