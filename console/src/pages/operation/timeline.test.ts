import { describe, expect, it } from 'vitest';
import { timelineOf } from './timeline.ts';

const step = (startedAt: number | null, finishedAt: number | null, wasUndone = false) => ({
  startedAt,
  finishedAt,
  wasUndone,
});

describe('the timeline of steps', () => {
  it('places bars in proportion to their durations', () => {
    const { totalMs, bars } = timelineOf([step(1_000, 2_000), step(2_000, 5_000), step(null, null)], 9_000);
    expect(totalMs).toBe(4_000);
    expect(bars).toMatchObject([
      { left: 0, width: 25, durationMs: 1_000 },
      { left: 25, width: 75, durationMs: 3_000 },
      null,
    ]);
  });

  it('ends a step that was undone where the next one started', () => {
    const { bars } = timelineOf([step(0, 9_000, true), step(1_000, 8_000, true)], 9_000);
    expect(bars.map((bar) => bar?.durationMs)).toEqual([1_000, 7_000]);
  });

  it('extends the bar of a running step until now', () => {
    const { totalMs, bars } = timelineOf([step(0, 1_000), step(1_000, null)], 4_000);
    expect(totalMs).toBe(4_000);
    expect(bars[1]).toEqual({ left: 25, width: 75, durationMs: 3_000, from: 1_000, to: 4_000 });
  });

  it('keeps very short steps visible and inside the timeline', () => {
    const { bars } = timelineOf([step(0, 100_000), step(100_000, 100_000)], 0);
    const last = bars[1];
    expect(last?.width).toBeGreaterThan(0.5);
    expect((last?.left ?? 0) + (last?.width ?? 0)).toBeCloseTo(100);
  });

  it('handles steps that have not started, that took no time, and a clock that is behind', () => {
    expect(timelineOf([], 5)).toEqual({ totalMs: 0, bars: [] });
    expect(timelineOf([step(null, null)], 5)).toEqual({ totalMs: 0, bars: [null] });
    expect(timelineOf([step(7, 7)], 9).bars).toMatchObject([{ left: 0, width: 100, durationMs: 0 }]);
    expect(timelineOf([step(1_000, null)], 500).bars).toMatchObject([{ left: 0, width: 100, durationMs: 0 }]);
  });
});
