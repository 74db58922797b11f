import { describe, expect, it } from 'vitest';
import { statesOf } from '../../../../src/domain/lifecycle/lifecycle.ts';
import { LAYER_NAMES, LAYERS, meaningOf, observedDisagreement } from './layers.ts';

describe('the layers of a machine', () => {
  it('have the meaning of every state', () => {
    for (const layer of LAYER_NAMES) {
      for (const state of statesOf(LAYERS[layer].lifecycle)) expect(meaningOf(layer, state)).not.toBe('');
    }
    expect(meaningOf('service', 'quarantined')).toContain('blocked from scheduling');
  });

  it('have no text for states of a newer server', () => {
    expect(meaningOf('service', 'hibernating')).toBe('');
    expect(meaningOf('service', 'toString')).toBe('');
  });
});

describe('the observed state', () => {
  const observed = { source: 'site-a', state: 'Broken', power: 'off', upstreamId: 'x' };

  it('disagrees where the server says it does', () => {
    expect(observedDisagreement(observed, 'quarantined')).toBe(
      'site-a says Broken, and a node that is active should be Deployed',
    );
    expect(observedDisagreement({ ...observed, state: 'Deployed' }, 'quarantined')).toBeNull();
    expect(observedDisagreement(observed, null)).toBeNull();
  });
});
