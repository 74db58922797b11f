import { expect, test } from 'vitest';
import { AnswerBreaker } from './answer-breaker.ts';

function breakerAt(clock: { now: number }): AnswerBreaker {
  return new AnswerBreaker({
    maas: 'site-a',
    monotonicNow: () => clock.now,
    random: () => 0.5,
    trialMs: 1_000,
  });
}

const isOpen = (breaker: AnswerBreaker) => {
  try {
    breaker.check();
    return false;
  } catch {
    return true;
  }
};

test('two without an answer are nothing, three in a row are', () => {
  const breaker = breakerAt({ now: 0 });
  breaker.unanswered('ordinary');
  breaker.unanswered('ordinary');
  breaker.answered();
  breaker.unanswered('ordinary');
  breaker.unanswered('ordinary');
  expect(isOpen(breaker)).toBe(false);
  breaker.unanswered('ordinary');
  expect(isOpen(breaker)).toBe(true);
});

test('after a while one may try, and only one', () => {
  const clock = { now: 0 };
  const breaker = breakerAt(clock);
  for (let time = 0; time < 3; time++) breaker.unanswered(breaker.enter());
  clock.now = 1_999;
  expect(isOpen(breaker)).toBe(true);
  clock.now = 2_000;
  expect(breaker.enter()).toBe('trial');
  expect(isOpen(breaker)).toBe(true);
  breaker.answered();
  expect(breaker.enter()).toBe('ordinary');
});

test('each trial that fails makes the next while longer, up to a quarter of a minute', () => {
  const clock = { now: 0 };
  const breaker = breakerAt(clock);
  for (let time = 0; time < 3; time++) breaker.unanswered('ordinary');
  const whiles: number[] = [];
  for (let time = 0; time < 7; time++) {
    const start = clock.now;
    while (isOpen(breaker)) clock.now += 500;
    whiles.push(clock.now - start);
    breaker.unanswered(breaker.enter());
  }
  expect(whiles).toEqual([2_000, 4_000, 8_000, 15_000, 15_000, 15_000, 15_000]);
});

test('those that were under way when it opened do not make it longer', () => {
  const clock = { now: 0 };
  const breaker = breakerAt(clock);
  for (let time = 0; time < 8; time++) breaker.unanswered('ordinary');
  clock.now = 2_000;
  expect(isOpen(breaker)).toBe(false);
});

test('a trial that was stopped leaves the place to another; one that never ends does too', () => {
  const clock = { now: 0 };
  const breaker = breakerAt(clock);
  for (let time = 0; time < 3; time++) breaker.unanswered('ordinary');
  clock.now = 2_000;
  breaker.left(breaker.enter());
  expect(breaker.enter()).toBe('trial');
  clock.now = 2_999;
  expect(isOpen(breaker)).toBe(true);
  clock.now = 3_000;
  expect(breaker.enter()).toBe('trial');
});
