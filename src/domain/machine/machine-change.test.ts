import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONDITION_TYPES, type ConditionChange } from '../condition/condition.ts';
import { sampleMachine } from './machine.fixture.ts';
import type { Machine } from './machine.ts';
import type { MachineChange } from './machine-change.ts';
import { applyChange, mergeChanges } from './machine-change.ts';

const cause = {
  at: new Date('2026-01-02T00:00:00.000Z'),
  actor: { kind: 'system', id: 'replica-1' },
  operationId: 'op-1',
} as const;

const raised = (type: ConditionChange['type'], reason = 'Because'): ConditionChange => ({
  type,
  status: true,
  reason,
  message: 'it is so',
});
const lowered = (type: ConditionChange['type'], reason = 'NoMore'): ConditionChange => ({
  ...raised(type, reason),
  status: false,
});
const apply = (machine: ReturnType<typeof sampleMachine>, ...changes: ConditionChange[]) =>
  applyChange(machine, { conditions: changes }, cause);

const conditionChange: fc.Arbitrary<ConditionChange> = fc.record(
  {
    type: fc.constantFrom(...CONDITION_TYPES),
    status: fc.boolean(),
    reason: fc.constantFrom('First', 'Second'),
    message: fc.constant('m'),
    ifReason: fc.constantFrom(['First'], ['Second'], ['First', 'Second']),
  },
  { requiredKeys: ['type', 'status', 'reason', 'message'] },
) as fc.Arbitrary<ConditionChange>;

it('a change that comes only from elsewhere gives way to the one before it', () => {
  const retired = { service: { to: 'retired', owner: 'drain' } } as const;
  const givesUp = { service: { to: 'offline', owner: 'drain', from: ['draining'] } } as const;
  const draining = sampleMachine({ service: 'draining' });
  expect(applyChange(draining, mergeChanges(retired, givesUp), cause).machine.service).toBe('retired');
  expect(applyChange(draining, mergeChanges({}, givesUp), cause).machine.service).toBe('offline');
  expect(applyChange(sampleMachine({ service: 'active' }), givesUp, cause).machine.service).toBe('active');
});

it('a change may say where it goes from elsewhere', () => {
  const retired = { to: 'retired', owner: 'removal', from: ['removing'] } as const;
  const givesUp = {
    service: { to: 'offline', owner: 'drain', from: ['draining'], otherwise: retired },
  } as const;
  const serviceAfter = (service: Machine['service'], change: MachineChange) =>
    applyChange(sampleMachine({ service }), change, cause).machine.service;
  expect(serviceAfter('draining', givesUp)).toBe('offline');
  expect(serviceAfter('removing', givesUp)).toBe('retired');
  expect(serviceAfter('active', givesUp)).toBe('active');
  expect(serviceAfter(null, givesUp)).toBeNull();
  const deleted = { service: { to: 'deleted', owner: 'removal' } } as const;
  expect(serviceAfter('removing', mergeChanges(deleted, givesUp))).toBe('deleted');
});

const machineChange: fc.Arbitrary<MachineChange> = fc.record(
  {
    phase: fc.constantFrom('READY' as const, 'MAINTENANCE' as const),
    conditions: fc.array(conditionChange, { maxLength: 6 }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<MachineChange>;

describe('applyChange: the phase', () => {
  it('follows its table of transitions, with an event that has the actor', () => {
    const { machine, events } = applyChange(sampleMachine(), { phase: 'MAINTENANCE' }, cause);
    expect(machine.phase).toBe('MAINTENANCE');
    expect(events).toEqual([
      {
        kind: 'phase',
        subject: 'm-1',
        from: 'FACTORY_READY',
        to: 'MAINTENANCE',
        actor: cause.actor,
        comment: '',
        metadata: {},
        machineId: 'm-1',
        operationId: 'op-1',
        snapshot: null,
      },
    ]);
  });

  it('stays without an event where it is already', () => {
    const before = sampleMachine({ phase: 'READY' });
    expect(applyChange(before, { phase: 'READY' }, cause)).toEqual({ machine: before, events: [] });
  });

  it('refuses a transition that its table has not', () => {
    expect(() => applyChange(sampleMachine({ phase: 'READY' }), { phase: 'FACTORY_READY' }, cause)).toThrow(
      /can't go from READY to FACTORY_READY/,
    );
  });
});

describe('applyChange: conditions', () => {
  it('has an event for a condition that became true, with its reason', () => {
    const { machine, events } = apply(sampleMachine(), raised('Reachable'));
    expect(machine.conditions.Reachable).toMatchObject({ status: true, reason: 'Because' });
    expect(events).toMatchObject([
      {
        kind: 'condition',
        subject: 'Reachable',
        from: '',
        to: 'true',
        comment: 'it is so',
        metadata: { reason: 'Because' },
      },
    ]);
  });

  it('has an event for a condition that is false for the first time', () => {
    const { events } = apply(sampleMachine(), lowered('Provisioned'));
    expect(events).toMatchObject([{ subject: 'Provisioned', from: '', to: 'false' }]);
  });

  it('keeps a new reason without an event while the status stays', () => {
    const { machine } = apply(sampleMachine(), raised('Reachable'));
    const again = apply(machine, raised('Reachable', 'SeenAgain'));
    expect(again.events).toEqual([]);
    expect(again.machine.conditions.Reachable?.reason).toBe('SeenAgain');
  });

  it.each(['NeedsIntervention', 'OperationCanceled'] as const)(
    'does not lower %s when it was never raised',
    (type) => {
      const before = sampleMachine();
      expect(apply(before, lowered(type))).toEqual({ machine: before, events: [] });
    },
  );

  it.each(['NeedsIntervention', 'OperationCanceled'] as const)('lowers %s when it was raised', (type) => {
    const { machine, events } = apply(apply(sampleMachine(), raised(type)).machine, lowered(type));
    expect(machine.conditions[type]?.status).toBe(false);
    expect(events).toMatchObject([{ subject: type, from: 'true', to: 'false' }]);
  });

  it('leaves a condition alone that has another reason than the change is meant for', () => {
    const { machine } = apply(sampleMachine(), raised('NeedsIntervention', 'RebootFailed'));
    const meant = { ...lowered('NeedsIntervention'), ifReason: ['ReimageFailed'] };
    expect(apply(machine, meant)).toEqual({ machine, events: [] });
    const answered = apply(machine, { ...meant, ifReason: ['ReimageFailed', 'RebootFailed'] });
    expect(answered.machine.conditions.NeedsIntervention?.status).toBe(false);
  });

  it('does not set a condition that is absent when the change is meant for a reason', () => {
    const before = sampleMachine();
    const meant = { ...raised('Degraded'), ifReason: ['SomethingElse'] };
    expect(apply(before, meant)).toEqual({ machine: before, events: [] });
  });

  it('has an event for each change of status, in a chain from the old to the new', () => {
    fc.assert(
      fc.property(fc.array(machineChange, { maxLength: 6 }), (changes) => {
        let machine = sampleMachine({ phase: 'READY' });
        for (const change of changes) {
          const result = applyChange(machine, change, cause);
          for (const type of CONDITION_TYPES) {
            const chain = result.events.filter(
              (event) => event.kind === 'condition' && event.subject === type,
            );
            let status = String(machine.conditions[type]?.status ?? '');
            for (const event of chain) {
              expect(event.from).toBe(status);
              expect(event.to).not.toBe(status);
              status = event.to;
            }
            expect(String(result.machine.conditions[type]?.status ?? '')).toBe(status);
          }
          const moved = result.events.filter((event) => event.kind === 'phase');
          expect(moved).toHaveLength(result.machine.phase === machine.phase ? 0 : 1);
          machine = result.machine;
        }
      }),
    );
  });
});

describe('mergeChanges', () => {
  it('is the first change and then the second', () => {
    fc.assert(
      fc.property(machineChange, machineChange, (first, second) => {
        const before = sampleMachine({ phase: 'READY' });
        const inTurn = applyChange(applyChange(before, first, cause).machine, second, cause).machine;
        const merged = applyChange(before, mergeChanges(first, second), cause).machine;
        expect(merged).toEqual(inTurn);
      }),
    );
  });

  it('leaves the phase out when neither has one', () => {
    expect(mergeChanges({}, {})).toEqual({ conditions: [] });
  });
});
