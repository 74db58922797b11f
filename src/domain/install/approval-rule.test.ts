import { describe, expect, it } from 'vitest';
import { type ApprovalRule, matchingRule } from './approval-rule.ts';

const RULE: ApprovalRule = { name: 'r', macPrefixes: [], vendors: [], serialNumbers: [], profile: '' };
const node = (facts: { vendor?: string; serialNumber?: string } = {}) => ({
  macAddress: '52:54:00:aa:bb:cc',
  facts: { vendor: '', serialNumber: '', ...facts },
});
const matches = (rule: Partial<ApprovalRule>, facts = {}) =>
  matchingRule([{ ...RULE, ...rule }], node(facts)) !== null;

describe('a rule', () => {
  it('matches by the front of the address', () => {
    expect(matches({ macPrefixes: ['52:54:00'] })).toBe(true);
    expect(matches({ macPrefixes: ['00:11', '52:54:00:aa:bb:cc'] })).toBe(true);
    expect(matches({ macPrefixes: ['54:00'] })).toBe(false);
  });

  it('matches a vendor and a serial number whole, in any case', () => {
    expect(matches({ vendors: ['dell inc.'] }, { vendor: 'Dell Inc.' })).toBe(true);
    expect(matches({ vendors: ['Dell'] }, { vendor: 'Dell Inc.' })).toBe(false);
    expect(matches({ serialNumbers: ['a', 'CZ1'] }, { serialNumber: 'cz1' })).toBe(true);
    expect(matches({ serialNumbers: [''] })).toBe(false);
  });

  it('needs all that it says', () => {
    const rule = { macPrefixes: ['52:54'], vendors: ['HPE'], serialNumbers: ['S1'] };
    expect(matches(rule, { vendor: 'HPE', serialNumber: 'S1' })).toBe(true);
    expect(matches(rule, { vendor: 'HPE', serialNumber: 'S2' })).toBe(false);
    expect(matches(rule, { vendor: 'HPE' })).toBe(false);
  });

  it('the first one counts', () => {
    const rules = [
      { ...RULE, name: 'none', macPrefixes: ['00'] },
      { ...RULE, name: 'first', macPrefixes: ['52'] },
      { ...RULE, name: 'second', macPrefixes: ['52'] },
    ];
    expect(matchingRule(rules, node())?.name).toBe('first');
  });
});
