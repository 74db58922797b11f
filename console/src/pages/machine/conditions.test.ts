import { describe, expect, it } from 'vitest';
import { CONDITION_TYPES } from '../../../../src/domain/condition/condition.ts';
import { conditionRows } from './conditions.ts';

describe('conditions', () => {
  const reported = (type: string, status: boolean, since = 1) => ({
    type,
    status,
    reason: 'R',
    message: '',
    since,
  });

  it('are sorted by importance, then newest first, with unknown ones last', () => {
    const rows = conditionRows([
      reported('Reachable', true),
      reported('Reachable2', true),
      reported('RMA', true),
      reported('Degraded', true, 1),
      reported('NeedsIntervention', true, 2),
      reported('Provisioned', false),
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

  it('list every known type once, also when none was reported', () => {
    expect(
      conditionRows([])
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(CONDITION_TYPES.toSorted());
  });

  it('are coloured by the meaning of their status', () => {
    const tone = (type: string, status: boolean) => conditionRows([reported(type, status)])[0]?.tone;
    expect(tone('Reachable', true)).toBe('green');
    expect(tone('Reachable', false)).toBe('orange');
    expect(tone('NeedsIntervention', false)).toBe('green');
    expect(tone('constructor', true)).toBe('gray');
  });
});
