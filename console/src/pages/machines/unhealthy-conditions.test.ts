import { describe, expect, it } from 'vitest';
import { unhealthyConditions } from './unhealthy-conditions.ts';

describe('unhealthy conditions', () => {
  const condition = (status: boolean) => ({ status, reason: 'R', message: 'm', lastTransition: '' });

  it('are listed with the worst first', () => {
    const found = unhealthyConditions({
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
