import { expect, it } from 'vitest';
import { isInUse, massAbsence } from './mass-absence.ts';

it('takes one or two for drift, and a tenth of a large fleet, but not all of several', () => {
  const judged = [
    [0, 0],
    [0, 9],
    [1, 1],
    [1, 2],
    [2, 2],
    [2, 3],
    [3, 3],
    [3, 4],
    [3, 29],
    [3, 30],
    [500, 5000],
    [501, 5000],
    [5000, 5000],
  ].map(([missing = 0, inUse = 0]) => `${missing}/${inUse} ${massAbsence({ missing, inUse })}`);
  expect(judged).toEqual([
    '0/0 false',
    '0/9 false',
    '1/1 false',
    '1/2 false',
    '2/2 true',
    '2/3 false',
    '3/3 true',
    '3/4 true',
    '3/29 true',
    '3/30 false',
    '500/5000 false',
    '501/5000 true',
    '5000/5000 true',
  ]);
});

it('counts machines that absence would quarantine', () => {
  const observed = { source: 'site-a', state: 'Deployed', power: 'on', upstreamId: 'x', at: '' };
  const inUse = (service: Parameters<typeof isInUse>[0]['service']) =>
    isInUse({ service, activeOperationId: null, observed });
  expect((['active', 'offline'] as const).map(inUse)).toEqual([true, true]);
  expect(
    (
      [
        null,
        'bootstrap_issued',
        'enrolling',
        'quarantined',
        'draining',
        'retired',
        'removing',
        'deleted',
      ] as const
    ).map(inUse),
  ).not.toContain(true);
  expect(isInUse({ service: 'active', activeOperationId: 'op', observed })).toBe(false);
  expect(
    isInUse({ service: 'active', activeOperationId: null, observed: { ...observed, state: 'absent' } }),
  ).toBe(false);
});
