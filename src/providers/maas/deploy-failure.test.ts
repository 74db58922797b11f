import { expect, test } from 'vitest';
import type { MaasEvent } from './client/maas-control.ts';
import { isDatasourceFailure } from './deploy-failure.ts';

/** The oldest first, as they happen. */
function events(...lines: (readonly [type: string, description: string])[]): MaasEvent[] {
  return lines
    .map(([type, description], id) => ({ id, at: '', level: 'DEBUG', type, description }))
    .reverse();
}

const BEGINS = ['Node changed status', "From 'Allocated' to 'Deploying'"] as const;
const SEARCHES = ['Node installation', "'cloudinit' searching for network data from DataSourceMAAS"] as const;
const INSTALLS = ['Node installation', "'curtin' curtin command install"] as const;
const TIMED_OUT = ['Marking node failed', "Node operation 'Deploying' timed out after 30 minutes."] as const;
const FAILED = ['Node changed status', "From 'Deploying' to 'Failed deployment'"] as const;

test('the installed system searched for its datasource, and reported nothing more', () => {
  expect(isDatasourceFailure(events(BEGINS, SEARCHES, INSTALLS, SEARCHES, TIMED_OUT, FAILED))).toBe(true);
});

test('every deployment searches for a datasource: one that failed later failed for another reason', () => {
  const broke = ['Node installation failure', "'curtin' curtin command install failed"] as const;
  expect(isDatasourceFailure(events(BEGINS, SEARCHES, INSTALLS, broke, FAILED))).toBe(false);
  expect(isDatasourceFailure(events(BEGINS, SEARCHES, INSTALLS, TIMED_OUT, FAILED))).toBe(false);
});

test('what a deployment before it died of does not count', () => {
  const before = [BEGINS, SEARCHES, TIMED_OUT, FAILED] as const;
  expect(isDatasourceFailure(events(...before, BEGINS, TIMED_OUT, FAILED))).toBe(false);
});

test('there are no events at all', () => {
  expect(isDatasourceFailure([])).toBe(false);
});
