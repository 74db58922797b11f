import { describe, expect, it } from 'vitest';
import type { ConditionType } from '../condition/condition.ts';
import { availability, takesOutOfService } from './availability.ts';
import { sampleMachine } from './machine.fixture.ts';
import type { Machine } from './machine.ts';

const IN_SERVICE = { phase: 'READY', enteredServiceAt: new Date('2026-01-01T00:00:00Z') } as const;
const REBOOT = { activeOperationId: 'op-1', activeOperationType: 'REBOOT' } as const;

const flagged = (type: ConditionType, message = '') => ({
  [type]: { status: true, reason: 'Because', message, lastTransition: '2026-01-01T00:00:00.000Z' },
});

const verdict = (fields: Partial<Machine>) => availability(sampleMachine({ ...IN_SERVICE, ...fields }));

describe('availability', () => {
  it('is true of a machine in service, also while harmless work goes on', () => {
    expect(verdict({})).toEqual({ available: true, reason: null, message: '' });
    expect(verdict({ service: 'active', presence: 'ready' })).toMatchObject({ available: true });
    for (const type of ['EXIT_MAINTENANCE', 'ONBOARD', 'JOIN'] as const)
      expect(verdict({ activeOperationId: 'op-1', activeOperationType: type })).toMatchObject({
        available: true,
      });
  });

  it.each<[string, Partial<Machine>, string]>([
    ['flagged_retired', { conditions: flagged('Retired') }, 'it is flagged Retired'],
    ['flagged_rma', { conditions: flagged('RMA', 'disk 3') }, 'it is flagged RMA: disk 3'],
    ['needs_intervention', { conditions: flagged('NeedsIntervention') }, 'an operator must look at it'],
    ['quarantined', { service: 'quarantined' }, 'it is quarantined'],
    ['draining', { service: 'draining' }, 'it is being drained'],
    ['maintenance', { phase: 'MAINTENANCE', ...REBOOT }, 'it is in maintenance'],
    ['operation', REBOOT, 'an operation works on it: REBOOT op-1'],
    ['agent_lost', { service: 'offline', presence: 'expired' }, 'its agent is lost'],
    ['offline', { service: 'offline', presence: 'ready' }, 'it is offline'],
  ])('is false for %s, with the reason', (reason, fields, message) => {
    expect(verdict(fields)).toEqual({ available: false, reason, message });
  });

  it('is undecided for a machine that was never in service, whatever is done to it', () => {
    for (const fields of [{ phase: 'FACTORY_READY' }, { phase: 'MAINTENANCE' }, REBOOT] as const)
      expect(verdict({ ...fields, enteredServiceAt: null })).toEqual({
        available: null,
        reason: null,
        message: 'it was never in service',
      });
  });

  it.each(['retired', 'removing', 'deleted'] as const)(
    'is undecided for one that is %s, once the operation that takes it out has ended',
    (service) => {
      expect(verdict({ service })).toMatchObject({ available: null, reason: null });
      expect(verdict({ service, ...REBOOT })).toMatchObject({ available: false, reason: 'operation' });
    },
  );
});

describe('an operation that takes a machine out of service', () => {
  const takes = (fields: Partial<Machine>) =>
    takesOutOfService('REIMAGE', sampleMachine({ ...IN_SERVICE, ...fields }));

  it('is a disruptive one on a machine that is available', () => {
    expect(takes({})).toBe(true);
    expect(takesOutOfService('EXIT_MAINTENANCE', sampleMachine(IN_SERVICE))).toBe(false);
  });

  it('is none on a machine that is unavailable already, or was never in service', () => {
    expect(takes({ phase: 'MAINTENANCE' })).toBe(false);
    expect(takes({ presence: 'expired' })).toBe(false);
    expect(takes({ enteredServiceAt: null })).toBe(false);
  });
});
