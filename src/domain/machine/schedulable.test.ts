import { describe, expect, it } from 'vitest';
import type { ConditionType } from '../condition/condition.ts';
import { sampleMachine } from './machine.fixture.ts';
import type { Machine } from './machine.ts';
import { schedulable } from './schedulable.ts';

const OFFERED = { phase: 'READY', service: 'active', presence: 'ready' } as const;

const flagged = (type: ConditionType, message = '') => ({
  [type]: { status: true, reason: 'Because', message, lastTransition: '2026-01-01T00:00:00.000Z' },
});

const verdict = (fields: Partial<Machine>) => schedulable(sampleMachine({ ...OFFERED, ...fields }));

describe('schedulable', () => {
  it('is a machine in service whose agent is ready, also one that was never reimaged', () => {
    expect(verdict({})).toEqual({ schedulable: true, reason: null, message: '' });
    expect(verdict({ phase: 'FACTORY_READY' })).toMatchObject({ schedulable: true });
    expect(
      verdict({ conditions: { ...flagged('Degraded'), ...flagged('OperationCanceled') } }),
    ).toMatchObject({
      schedulable: true,
    });
  });

  it.each<[string, Partial<Machine>, string]>([
    ['flagged_rma', { conditions: flagged('RMA', 'disk 3') }, 'it is flagged RMA: disk 3'],
    ['flagged_retired', { conditions: flagged('Retired') }, 'it is flagged Retired'],
    ['maintenance', { phase: 'MAINTENANCE' }, 'it is in maintenance'],
    ['operation', { activeOperationId: 'op-1' }, 'an operation is under way: op-1'],
    ['drained', { conditions: flagged('Drained') }, 'it is drained'],
    ['needs_intervention', { conditions: flagged('NeedsIntervention') }, 'an operator must look at it'],
    ['draining', { service: 'draining', activeOperationId: 'op-1' }, 'it is being drained'],
    ['quarantined', { service: 'quarantined' }, 'it is quarantined'],
    ['retired', { service: 'retired' }, 'it is retired: taken out of scheduling on purpose'],
    ['removing', { service: 'removing', activeOperationId: 'op-1' }, 'it is being removed'],
    ['deleted', { service: 'deleted' }, 'it was removed from the inventory'],
    ['enrolling', { service: 'enrolling', activeOperationId: 'op-1' }, 'its onboarding is not over'],
    ['offline', { service: 'offline', presence: 'expired' }, 'it is offline'],
    ['agent_not_ready', { presence: 'registered' }, 'its agent is not ready: registered'],
    ['agent_not_ready', { presence: null }, 'its agent is not ready: it has none'],
    ['no_agent', { service: null, presence: null }, 'no agent reports for it'],
  ])('is false for %s, with the reason', (reason, fields, message) => {
    expect(verdict(fields)).toEqual({ schedulable: false, reason, message });
  });
});
