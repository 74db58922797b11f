import { describe, expect, it } from 'vitest';
import { installLifecycle } from '../install/install-state.ts';
import type { StateInfo } from '../lifecycle/lifecycle.ts';
import { EFFECTIVE_STATES } from './effective-state.ts';
import { serviceLifecycle } from './service-state.ts';
import { DWELL_LAYERS, DWELL_LIMITS, dwellEnd, overdueFilter } from './state-time-limit.ts';

const isFinal = (states: Readonly<Record<string, StateInfo>>, state: string) => states[state]?.final === true;

describe('how long a machine may stay', () => {
  it('is said of every state that something should come after, and of none that is final', () => {
    expect(Object.keys(DWELL_LAYERS.effective_state.states)).toEqual(Object.keys(EFFECTIVE_STATES));
    for (const { layer, state, limitSeconds, advice } of DWELL_LIMITS) {
      expect(limitSeconds).toBeGreaterThanOrEqual(3600);
      expect(advice).toMatch(/^[a-z].*[^.]$/);
      if (layer === 'service') expect(isFinal(serviceLifecycle.states, state)).toBe(false);
      if (layer === 'install') expect(isFinal(installLifecycle.states, state)).toBe(false);
    }
  });

  it('is a filter with the moment before which it must have come', () => {
    const draining = DWELL_LIMITS.find(({ layer, state }) => layer === 'service' && state === 'draining');
    if (!draining) throw new Error('draining has no limit');
    const now = new Date('2026-01-02T10:00:00.123Z');
    expect(dwellEnd(draining, now)).toEqual(new Date('2026-01-02T06:00:00.123Z'));
    expect(overdueFilter(draining, now)).toBe(
      'service=draining AND service_since<"2026-01-02T06:00:00.123Z"',
    );
  });
});
