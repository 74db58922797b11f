import { describe, expect, test } from 'vitest';
import { APPROVAL_FILTER } from '../filter/approval-filter.ts';
import { checkFilter } from '../filter/check.ts';
import { parseFilter } from '../filter/parse.ts';
import { sampleMachine } from '../machine/machine.fixture.ts';
import { type ApprovalSubject, approvalFor, approvalRule } from './approval.ts';

const NOW = new Date('2026-11-16T12:00:00Z');

function rule(name: string, filter: string) {
  return approvalRule(
    { name, approverRole: 'operator', expiresAfterSeconds: 60 },
    checkFilter(parseFilter(filter), APPROVAL_FILTER),
  );
}

function subject(changes: Partial<ApprovalSubject>): ApprovalSubject {
  const machine = { ...sampleMachine(), labels: { env: 'prod' } };
  return { machine, type: 'REIMAGE', planId: '', params: {}, ...changes };
}

describe('an approval is asked for', () => {
  const rules = [
    rule('prod', 'type=REIMAGE AND labels.env=prod'),
    rule('full', 'type=DECOMMISSION AND mode=FULL_DECOMMISSION'),
  ];

  test.each([
    ['prod', subject({})],
    ['full', subject({ type: 'DECOMMISSION', params: { mode: 'full_decommission' } })],
    [undefined, subject({ type: 'REBOOT' })],
    [undefined, subject({ type: 'DECOMMISSION', params: { mode: 'soft_reset' } })],
    [undefined, subject({ machine: { ...sampleMachine(), labels: { env: 'test' } } })],
  ])('by rule %s', (name, asked) => {
    expect(approvalFor(rules, asked, NOW)?.rule).toBe(name);
  });

  test('and expires after the time of its rule', () => {
    expect(approvalFor(rules, subject({}), NOW)).toMatchObject({
      state: 'waiting',
      expiresAt: '2026-11-16T12:01:00.000Z',
    });
  });
});

test('a rule may name any field of a machine and no other', () => {
  expect(() => rule('a', 'spec.provider=maas AND conditions.Retired=false AND phase=READY')).not.toThrow();
  expect(() => rule('b', 'colour=red')).toThrow(/colour/);
});
