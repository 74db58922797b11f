import { describe, expect, it } from 'vitest';
import type { Condition, ConditionType } from '../condition/condition.ts';
import { sampleMachine } from '../machine/machine.fixture.ts';
import type { Machine } from '../machine/machine.ts';
import { agentReady } from './agent-changes.ts';

const AT = new Date('2026-01-01T00:00:00.000Z');
const raised = <T extends ConditionType>(type: T) =>
  ({ [type]: { status: true, reason: 'R', message: '', lastTransition: AT.toISOString() } }) as Record<
    T,
    Condition
  >;
const serviceOf = (fields: Partial<Machine>) =>
  agentReady(sampleMachine({ presence: 'registered', ...fields }), AT).machine.service;

describe('an agent that is ready', () => {
  it('puts its machine in service where nothing else decides', () => {
    expect(serviceOf({ service: 'enrolling' })).toBe('active');
    expect(serviceOf({ service: 'offline' })).toBe('active');
  });

  it('decides nothing while an operation onboards the machine', () => {
    expect(serviceOf({ service: 'enrolling', activeOperationId: 'op-1' })).toBe('enrolling');
    expect(serviceOf({ service: 'offline', activeOperationId: 'op-1' })).toBe('offline');
  });

  it('does not complete an onboarding that was canceled', () => {
    expect(serviceOf({ service: 'enrolling', conditions: raised('OperationCanceled') })).toBe('enrolling');
  });

  it('returns after it was lost, although its last operation was canceled', () => {
    expect(serviceOf({ service: 'offline', conditions: raised('OperationCanceled') })).toBe('active');
  });

  it('does not bring back one that is retired', () => {
    const conditions = raised('Retired');
    expect(serviceOf({ service: 'enrolling', conditions })).toBe('enrolling');
    expect(serviceOf({ service: 'offline', conditions })).toBe('offline');
  });

  it('does not bring back one that was to be used again, when that was called off', () => {
    const { OperationCanceled } = raised('OperationCanceled');
    const conditions = { OperationCanceled: { ...OperationCanceled, reason: 'OnboardCanceled' } };
    expect(serviceOf({ service: 'offline', conditions })).toBe('offline');
    const later = { OperationCanceled: { ...conditions.OperationCanceled, status: false } };
    expect(serviceOf({ service: 'offline', conditions: later })).toBe('active');
  });

  it.each(['enrolling', 'offline'] as const)(
    'does not bring back a machine that needs an operator (%s)',
    (service) => {
      expect(serviceOf({ service, conditions: raised('NeedsIntervention') })).toBe(service);
    },
  );

  it.each(['quarantined', 'draining', 'retired', 'removing', 'deleted'] as const)(
    'leaves a machine that is %s',
    (service) => {
      expect(serviceOf({ service })).toBe(service);
    },
  );
});
