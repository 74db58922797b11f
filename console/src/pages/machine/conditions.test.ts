import { describe, expect, it } from 'vitest';
import { CONDITION_TYPES } from '../../../../src/domain/condition/condition.ts';
import { conditionRows } from './conditions.ts';

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
