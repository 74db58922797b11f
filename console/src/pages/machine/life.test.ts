import { describe, expect, it } from 'vitest';
import { lifeRows, ticksOf } from './life.ts';

const NOTHING = { phase: '', service: '', install: '', presence: '' };
const period = { from: 1_000, to: 2_000 };
const event = (kind: string, from: string, to: string, at: number) => ({ kind, from, to, at });

describe('the life of a machine', () => {
  it('has a span for each state of a layer, from the state before the first change to now', () => {
    const events = [
      event('phase', 'MAINTENANCE', 'READY', 1_600),
      event('phase', 'READY', 'MAINTENANCE', 1_200),
    ];
    const [phase, ...others] = lifeRows(events, [], { ...NOTHING, phase: 'READY' }, period);
    expect(phase?.title).toBe('Phase');
    expect(phase?.spans.map(({ text, tone, from, to }) => [text, tone, from, to])).toEqual([
      ['READY', 'green', 1_000, 1_200],
      ['MAINTENANCE', 'yellow', 1_200, 1_600],
      ['READY', 'green', 1_600, 2_000],
    ]);
    expect(others).toEqual([]);
  });

  it('shows a layer that never changed in its state, and leaves out those that the machine does not have', () => {
    const rows = lifeRows([], [], { ...NOTHING, phase: 'READY' }, period);
    expect(rows.map(({ title, spans }) => [title, spans.length])).toEqual([['Phase', 1]]);
  });

  it('does not show a layer before the machine had it, nor what ended before the period', () => {
    const rows = lifeRows([event('presence', '', 'ready', 1_500)], [], NOTHING, period);
    expect(rows[0]?.spans.map(({ from, to }) => [from, to])).toEqual([[1_500, 2_000]]);
    expect(lifeRows([event('presence', 'ready', '', 900)], [], NOTHING, period)).toEqual([]);
  });

  it('shows operations with their result, and one under way until now', () => {
    const at = { startedAt: 500, endedAt: 1_100 };
    const rows = lifeRows(
      [],
      [
        { operationId: 'op-1', type: 'REIMAGE', phase: 'FAILED', ...at },
        { operationId: 'op-2', type: 'REBOOT', phase: 'RUNNING', startedAt: 1_900, endedAt: null },
      ],
      NOTHING,
      period,
    );
    expect(rows[0]?.spans.map(({ text, tone, from, to }) => [text, tone, from, to])).toEqual([
      ['REIMAGE FAILED', 'red', 1_000, 1_100],
      ['REBOOT RUNNING', 'blue', 1_900, 2_000],
    ]);
  });

  it.each([
    [600_000, 5 * 60_000],
    [86_400_000, 6 * 3_600_000],
    [30 * 86_400_000, 7 * 86_400_000],
    [3_000 * 86_400_000, 500 * 86_400_000],
  ])('has an axis of at most seven round times for %d ms', (length, step) => {
    const { stepMs, ticks } = ticksOf({ from: 1_700_000_000_000, to: 1_700_000_000_000 + length });
    expect(stepMs).toBe(step);
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks.length).toBeLessThanOrEqual(7);
  });
});
