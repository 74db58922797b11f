import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { statesOf } from '../lifecycle/lifecycle.ts';
import { newStep, overallProgress, retryCount } from './step.ts';
import { stepLifecycle } from './step-state.ts';

const part = fc.record({
  state: fc.constantFrom(...statesOf(stepLifecycle)),
  progress: fc.integer({ min: 0, max: 100 }),
});

describe('overallProgress', () => {
  it('weighs each step the same and rounds down', () => {
    expect(
      overallProgress([
        { state: 'succeeded', progress: 100 },
        { state: 'running', progress: 50 },
        { state: 'waiting', progress: 0 },
      ]),
    ).toBe(50);
    expect(
      overallProgress([
        { state: 'running', progress: 99 },
        { state: 'succeeded', progress: 0 },
      ]),
    ).toBe(99);
  });

  it('is 0 without steps', () => expect(overallProgress([])).toBe(0));

  it('is 100 only when every step has succeeded or has progress 100', () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1 }), (steps) => {
        const overall = overallProgress(steps);
        expect(overall).toBeGreaterThanOrEqual(0);
        expect(overall).toBeLessThanOrEqual(100);
        const all = steps.every(({ state, progress }) => state === 'succeeded' || progress === 100);
        expect(overall === 100).toBe(all);
      }),
    );
  });
});

describe('a new step', () => {
  it('has done nothing and remembers nothing', () => {
    const definition = {
      name: 'reboot',
      kind: 'reboot',
      config: {},
      timeoutSeconds: 300,
      maxRetries: 1,
      title: 'Rebooting',
      doneTitle: 'Rebooted',
    };
    const step = newStep(definition);
    expect(step).toMatchObject({
      ...definition,
      state: stepLifecycle.initial,
      attempts: 0,
      memo: {},
      progress: 0,
    });
    expect(retryCount(step)).toBe(0);
  });
});

describe('retryCount', () => {
  it.each([
    [0, 0],
    [1, 0],
    [2, 1],
    [5, 4],
  ])('of %i attempts is %i', (attempts, retries) => expect(retryCount({ attempts })).toBe(retries));
});
