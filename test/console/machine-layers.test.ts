import { describe, expect, it } from 'vitest';
import { conditionRows } from '../../console/src/pages/machine/conditions.ts';
import {
  LAYER_NAMES,
  LAYERS,
  meaningOf,
  observedDisagreement,
} from '../../console/src/pages/machine/layers.ts';
import { CONDITION_TYPES } from '../../src/domain/condition/condition.ts';
import { statesOf } from '../../src/domain/lifecycle/lifecycle.ts';

describe('the layers of a machine', () => {
  it('say what every state means, in the words of the lifecycle', () => {
    for (const layer of LAYER_NAMES) {
      for (const state of statesOf(LAYERS[layer].lifecycle)) expect(meaningOf(layer, state)).not.toBe('');
    }
    expect(meaningOf('service', 'quarantined')).toContain('blocked from scheduling');
  });

  it('say why there is none, and nothing of states of a newer server', () => {
    expect(meaningOf('presence', '')).toContain('No agent');
    expect(meaningOf('service', 'hibernating')).toBe('');
    expect(meaningOf('service', 'toString')).toBe('');
  });
});

describe('what an upstream says', () => {
  const observed = { source: 'site-a', state: 'Broken', power: 'off', upstreamId: 'x' };

  it('is held against the machine where the server would hold it against it', () => {
    expect(observedDisagreement(observed, 'quarantined')).toBe(
      'site-a says Broken, and a node that is active should be Deployed',
    );
    expect(observedDisagreement({ ...observed, state: 'Deployed' }, 'quarantined')).toBeNull();
    expect(observedDisagreement(observed, null)).toBeNull();
  });
});

describe('conditions', () => {
  const told = (type: string, status: boolean, since = 1) => ({
    type,
    status,
    reason: 'R',
    message: '',
    since,
  });

  it('show what matters first, the newest of those first, and the unknown last', () => {
    const rows = conditionRows([
      told('Reachable', true),
      told('Reachable2', true),
      told('RMA', true),
      told('Degraded', true, 1),
      told('NeedsIntervention', true, 2),
      told('Provisioned', false),
    ]);
    expect(rows.slice(0, 6).map(({ type }) => type)).toEqual([
      'RMA',
      'NeedsIntervention',
      'Degraded',
      'Reachable',
      'Reachable2',
      'Provisioned',
    ]);
    expect(rows.slice(6).map(({ status }) => status)).toEqual(Array(5).fill('unknown'));
  });

  it('tell every known type once, also when nothing was told', () => {
    expect(
      conditionRows([])
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(CONDITION_TYPES.toSorted());
  });

  it('colour by what a status means', () => {
    const tone = (type: string, status: boolean) => conditionRows([told(type, status)])[0]?.tone;
    expect(tone('Reachable', true)).toBe('green');
    expect(tone('Reachable', false)).toBe('orange');
    expect(tone('NeedsIntervention', false)).toBe('green');
    expect(tone('constructor', true)).toBe('gray');
  });
});
