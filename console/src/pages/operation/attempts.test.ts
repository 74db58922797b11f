import { expect, it } from 'vitest';
import { type AttemptEvent, attemptsOf, spansWithin } from './attempts.ts';

function event(
  at: number,
  changes: Partial<AttemptEvent> & { attempt: number; code?: string },
): AttemptEvent {
  const { attempt, code, ...rest } = changes;
  return {
    at,
    kind: 'progress',
    step: 'repave',
    to: 'running',
    comment: '',
    metadata: JSON.stringify({ attempt, code }),
    ...rest,
  };
}

const EVENTS = [
  event(0, { kind: 'step', attempt: 1 }),
  event(10, { attempt: 1, comment: 'writing' }),
  event(40, { attempt: 1, code: 'EXECUTION_FAILED', comment: 'attempt 1 of 2 failed: an I/O error' }),
  event(60, { attempt: 2, comment: 'attempt 2' }),
  event(100, { kind: 'step', to: 'succeeded', attempt: 2 }),
];

it('attempts of a step are spans of time, with why each failed', () => {
  expect(attemptsOf(EVENTS.toReversed()).get('repave')).toEqual([
    { number: 1, from: 0, to: 40, ended: 'failed', message: 'attempt 1 of 2 failed: an I/O error' },
    { number: 2, from: 60, to: 100, ended: 'other', message: '' },
  ]);
});

it('an attempt without an end goes on, and spans lie within the bar of their step', () => {
  const attempts = attemptsOf(EVENTS.slice(0, 4)).get('repave') ?? [];
  expect(attempts.at(-1)?.to).toBeNull();
  expect(spansWithin(attempts, { from: 0, to: 200 }).map(({ left, width }) => [left, width])).toEqual([
    [0, 20],
    [30, 70],
  ]);
});

it('one attempt is its step, and needs no spans', () => {
  expect(spansWithin(attemptsOf(EVENTS.slice(0, 2)).get('repave') ?? [], { from: 0, to: 9 })).toEqual([]);
});

it('events without attempts are skipped', () => {
  expect(attemptsOf([{ ...event(0, { attempt: 1 }), metadata: '' }]).size).toBe(0);
});
