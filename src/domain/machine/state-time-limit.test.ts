import { describe, expect, it } from 'vitest';
import { installLifecycle } from '../install/install-state.ts';
import type { StateInfo } from '../lifecycle/lifecycle.ts';
import { EFFECTIVE_STATES } from './effective-state.ts';
import { serviceLifecycle } from './service-state.ts';
import { LIMITED_LAYERS, overdueBefore, overdueFilter, STATE_TIME_LIMITS } from './state-time-limit.ts';

const isFinal = (states: Readonly<Record<string, StateInfo>>, state: string) => states[state]?.final === true;

describe('the time limit of a state', () => {
  it('exists only for states that are not final, with advice', () => {
    expect(Object.keys(LIMITED_LAYERS.effective_state.states)).toEqual(Object.keys(EFFECTIVE_STATES));
    for (const { layer, state, limitSeconds, advice } of STATE_TIME_LIMITS) {
      expect(limitSeconds).toBeGreaterThanOrEqual(3600);
      expect(advice).toMatch(/^[a-z].*[^.]$/);
      if (layer === 'service') expect(isFinal(serviceLifecycle.states, state)).toBe(false);
      if (layer === 'install') expect(isFinal(installLifecycle.states, state)).toBe(false);
    }
  });

  it('gives a filter with the time before which the state must have started', () => {
    const draining = STATE_TIME_LIMITS.find(
      ({ layer, state }) => layer === 'service' && state === 'draining',
    );
    if (!draining) throw new Error('draining has no limit');
    const now = new Date('2026-01-02T10:00:00.123Z');
    expect(overdueBefore(draining, now)).toEqual(new Date('2026-01-02T06:00:00.123Z'));
    expect(overdueFilter(draining, now)).toBe(
      'service=draining AND service_since<"2026-01-02T06:00:00.123Z"',
    );
  });
});
