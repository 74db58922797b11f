import { describe, expect, it } from 'vitest';
import { sampleMachine } from '../../../../src/domain/machine/machine.fixture.ts';
import { ListChanges, listRules } from './list-changes.ts';

function changesOf(filter: string, orderBy: string, listed: readonly string[]) {
  return new ListChanges(listRules(filter, [orderBy]), (id) => listed.includes(id));
}

describe('a list that is out of date', () => {
  it('counts added and removed machines, but not those that only changed', () => {
    const changes = changesOf('phase=READY', 'machine_id', ['a', 'b']);
    changes.onEvents([
      { kind: 'phase', machineId: 'a' },
      { kind: 'phase', machineId: 'b' },
      { kind: 'phase', machineId: 'c' },
    ]);
    expect(changes.takeUnchecked(10)).toEqual(['a', 'b', 'c']);
    changes.check('a', sampleMachine({ machineId: 'a', phase: 'MAINTENANCE' }));
    changes.check('b', sampleMachine({ machineId: 'b', phase: 'READY' }));
    changes.check('c', sampleMachine({ machineId: 'c', phase: 'READY' }));
    expect(changes.count).toBe(2);
  });

  it('stops counting a machine that matches the list again', () => {
    const changes = changesOf('effective_state=IDLE', 'machine_id', ['a']);
    changes.check('a', sampleMachine({ phase: 'READY', activeOperationId: 'op-1' }));
    expect(changes.count).toBe(1);
    changes.check('a', sampleMachine({ phase: 'READY' }));
    expect(changes.count).toBe(0);
  });

  it('does not check machines whose events cannot affect its filter', () => {
    const changes = changesOf('labels.rack=r1', 'machine_id', ['a']);
    changes.onEvents(
      ['phase', 'condition', 'operation', 'step', 'progress', 'presence'].map((kind) => ({
        kind,
        machineId: 'a',
      })),
    );
    expect(changes.takeUnchecked(10)).toEqual([]);
    changes.onEvents([{ kind: 'machine', machineId: 'a' }]);
    expect(changes.takeUnchecked(10)).toEqual(['a']);
    expect(changes.takeUnchecked(10)).toEqual([]);
  });

  it('counts new and deleted machines without any filter; a removed machine is not in the inventory', () => {
    const changes = changesOf('', 'machine_id', ['a', 'b']);
    changes.check('new', sampleMachine({ machineId: 'new' }));
    changes.check('a', null);
    changes.check('b', sampleMachine({ machineId: 'b', service: 'deleted' }));
    expect(changes.count).toBe(3);
    const removed = changesOf('service=deleted', 'machine_id', ['b']);
    removed.check('b', sampleMachine({ machineId: 'b', service: 'deleted' }));
    expect(removed.count).toBe(0);
  });

  it('counts a machine that the order would move, once', () => {
    const changes = changesOf('phase=READY', 'effective_state', ['a']);
    changes.onEvents([
      { kind: 'operation', machineId: 'a' },
      { kind: 'operation', machineId: 'stranger' },
      { kind: 'progress', machineId: 'a' },
    ]);
    expect(changes.count).toBe(1);
    changes.check('a', sampleMachine({ phase: 'MAINTENANCE' }));
    expect(changes.count).toBe(1);
  });

  it('counts every event where the list is sorted by the last change', () => {
    const changes = changesOf('', 'updated_at', ['a']);
    changes.onEvents([{ kind: 'presence', machineId: 'a' }]);
    expect(changes.count).toBe(1);
  });

  it('checks machines again after a failed request', () => {
    const changes = changesOf('', 'machine_id', []);
    changes.putBack(['a']);
    expect(changes.takeUnchecked(10)).toEqual(['a']);
  });

  it.each([
    [['a', 'b', 'c'], 0],
    [['a', 'c', 'd'], 2],
    [['b', 'a', 'c'], 2],
    [[], 3],
  ])('is compared with the newer list %j: %i came, went or moved', (newer, count) => {
    const shown = ['a', 'b', 'c'];
    const changes = changesOf('', 'updated_at', shown);
    changes.check('x', sampleMachine({ machineId: 'x' }));
    changes.onEvents([{ kind: 'phase', machineId: 'a' }]);
    changes.compare(shown, newer);
    expect(changes.count).toBe(count);
  });
});
