import { describe, expect, it } from 'vitest';
import { troubles } from './troubles.ts';

describe('troubles', () => {
  const condition = (status: boolean) => ({ status, reason: 'R', message: 'm', lastTransition: '' });

  it('are the conditions that are bad as they are, the worst first', () => {
    const found = troubles({
      Reachable: condition(false),
      BMCReachable: condition(true),
      Degraded: condition(false),
      OperationCanceled: condition(true),
      RMA: condition(true),
    });
    expect(found.map(({ text, tone }) => `${text} ${tone}`)).toEqual([
      'RMA red',
      'not Reachable orange',
      'OperationCanceled yellow',
    ]);
  });
});
