import { describe, expect, it } from 'vitest';
import { sampleMachine } from '../../../../src/domain/machine/machine.fixture.ts';
import { ListChanges, listRules } from './list-changes.ts';

function changesOf(filter: string, orderBy: string, listed: readonly string[]) {
  return new ListChanges(listRules(filter, orderBy), (id) => listed.includes(id));
}

describe('a list that is out of date', () => {
  it('counts a machine that came and one that went, and not those that only changed', () => {
    const changes = changesOf('phase=READY', 'machine_id', ['a', 'b']);
    changes.see([
      { kind: 'phase', machineId: 'a' },
      { kind: 'phase', machineId: 'b' },
      { kind: 'phase', machineId: 'c' },
    ]);
    expect(changes.takeUnsure(10)).toEqual(['a', 'b', 'c']);
    changes.look('a', sampleMachine({ machineId: 'a', phase: 'MAINTENANCE' }));
    changes.look('b', sampleMachine({ machineId: 'b', phase: 'READY' }));
    changes.look('c', sampleMachine({ machineId: 'c', phase: 'READY' }));
    expect(changes.count).toBe(2);
  });

  it('forgets a machine that is again as the list has it', () => {
    const changes = changesOf('effective_state=IDLE', 'machine_id', ['a']);
    changes.look('a', sampleMachine({ phase: 'READY', activeOperationId: 'op-1' }));
    expect(changes.count).toBe(1);
    changes.look('a', sampleMachine({ phase: 'READY' }));
    expect(changes.count).toBe(0);
  });

  it('does not look at machines whose events can’t concern its filter', () => {
    const changes = changesOf('labels.rack=r1', 'machine_id', ['a']);
    changes.see(
      ['phase', 'condition', 'operation', 'step', 'progress', 'presence'].map((kind) => ({
        kind,
        machineId: 'a',
      })),
    );
    expect(changes.takeUnsure(10)).toEqual([]);
    changes.see([{ kind: 'machine', machineId: 'a' }]);
    expect(changes.takeUnsure(10)).toEqual(['a']);
    expect(changes.takeUnsure(10)).toEqual([]);
  });

  it('counts a machine that is new or gone without any filter; what was removed is not in the inventory', () => {
    const changes = changesOf('', 'machine_id', ['a', 'b']);
    changes.look('new', sampleMachine({ machineId: 'new' }));
    changes.look('a', null);
    changes.look('b', sampleMachine({ machineId: 'b', service: 'deleted' }));
    expect(changes.count).toBe(3);
    const removed = changesOf('service=deleted', 'machine_id', ['b']);
    removed.look('b', sampleMachine({ machineId: 'b', service: 'deleted' }));
    expect(removed.count).toBe(0);
  });

  it('counts a listed machine that its order would move, once', () => {
    const changes = changesOf('phase=READY', 'effective_state', ['a']);
    changes.see([
      { kind: 'operation', machineId: 'a' },
      { kind: 'operation', machineId: 'stranger' },
      { kind: 'progress', machineId: 'a' },
    ]);
    expect(changes.count).toBe(1);
    changes.look('a', sampleMachine({ phase: 'MAINTENANCE' }));
    expect(changes.count).toBe(1);
  });

  it('takes every event for a change where the order is by the last change', () => {
    const changes = changesOf('', 'updated_at', ['a']);
    changes.see([{ kind: 'presence', machineId: 'a' }]);
    expect(changes.count).toBe(1);
  });

  it('looks again at what could not be looked at', () => {
    const changes = changesOf('', 'machine_id', []);
    changes.putBack(['a']);
    expect(changes.takeUnsure(10)).toEqual(['a']);
  });

  it.each([
    [['a', 'b', 'c'], 0],
    [['a', 'c', 'd'], 2],
    [['b', 'a', 'c'], 2],
    [[], 3],
  ])('is compared with the newer list %j: %i came, went or moved', (newer, count) => {
    const shown = ['a', 'b', 'c'];
    const changes = changesOf('', 'updated_at', shown);
    changes.look('x', sampleMachine({ machineId: 'x' }));
    changes.see([{ kind: 'phase', machineId: 'a' }]);
    changes.compare(shown, newer);
    expect(changes.count).toBe(count);
  });
});
