import { expect, test } from 'vitest';
import { isDatasourceFailure } from './deploy-failure.ts';
import type { MaasEvent } from './maas-control.ts';

/** The oldest first, as they happen. */
function told(...lines: (readonly [type: string, description: string])[]): MaasEvent[] {
  return lines
    .map(([type, description], id) => ({ id, at: '', level: 'DEBUG', type, description }))
    .reverse();
}

const BEGINS = ['Node changed status', "From 'Allocated' to 'Deploying'"] as const;
const SEARCHES = ['Node installation', "'cloudinit' searching for network data from DataSourceMAAS"] as const;
const INSTALLS = ['Node installation', "'curtin' curtin command install"] as const;
const TIMED_OUT = ['Marking node failed', "Node operation 'Deploying' timed out after 30 minutes."] as const;
const FAILED = ['Node changed status', "From 'Deploying' to 'Failed deployment'"] as const;

test('the installed system looked for its datasource, and nothing more was heard of it', () => {
  expect(isDatasourceFailure(told(BEGINS, SEARCHES, INSTALLS, SEARCHES, TIMED_OUT, FAILED))).toBe(true);
});

test('every deployment looks for a datasource: one that failed later failed of something else', () => {
  const broke = ['Node installation failure', "'curtin' curtin command install failed"] as const;
  expect(isDatasourceFailure(told(BEGINS, SEARCHES, INSTALLS, broke, FAILED))).toBe(false);
  expect(isDatasourceFailure(told(BEGINS, SEARCHES, INSTALLS, TIMED_OUT, FAILED))).toBe(false);
});

test('what a deployment before it died of does not count', () => {
  const before = [BEGINS, SEARCHES, TIMED_OUT, FAILED] as const;
  expect(isDatasourceFailure(told(...before, BEGINS, TIMED_OUT, FAILED))).toBe(false);
});

test('nothing was heard at all', () => {
  expect(isDatasourceFailure([])).toBe(false);
});
