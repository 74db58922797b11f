import { describe, expect, it } from 'vitest';
import { sampleMachine } from '../../../../src/domain/machine/machine.fixture.ts';
import {
  type BulkActionName,
  bulkAction,
  type Candidate,
  candidateFor,
  reasonGroups,
} from './bulk-actions.ts';

const ready = (machineId: string) => sampleMachine({ machineId, phase: 'READY' });

function candidatesFor(name: BulkActionName): Candidate[] {
  const machines = [
    ready('a'),
    sampleMachine({ machineId: 'b', phase: 'MAINTENANCE' }),
    sampleMachine({ machineId: 'c', phase: 'MAINTENANCE', activeOperationId: 'op-1' }),
    sampleMachine({ machineId: 'd', phase: 'MAINTENANCE', activeOperationId: 'op-2' }),
  ];
  return [
    ...machines.map((machine) => candidateFor(name, machine.machineId, machine)),
    candidateFor(name, 'e', null),
  ];
}

describe('a bulk action', () => {
  it('finds the eligible machines, and groups the others by reason, whatever their ids', () => {
    const candidates = candidatesFor('REIMAGE');
    expect(candidates.filter(({ reason }) => reason === '').map(({ machineId }) => machineId)).toEqual(['b']);
    expect(reasonGroups(candidates)).toEqual([
      {
        reason: 'It has operation … under way. Wait for it, or cancel it first.',
        machineIds: ['c', 'd'],
      },
      {
        reason: 'REIMAGE needs MAINTENANCE, and it is READY. Enter maintenance first.',
        machineIds: ['a'],
      },
      { reason: 'It is no longer in the inventory.', machineIds: ['e'] },
    ]);
  });

  it('cancels exactly the active operations', () => {
    const eligible = candidatesFor('CANCEL').filter(({ reason }) => reason === '');
    expect(eligible.map(({ activeOperationId }) => activeOperationId)).toEqual(['op-1', 'op-2']);
  });

  it('asks for the number of machines where data is destroyed', () => {
    expect([bulkAction('REIMAGE').confirm, bulkAction('REBOOT').confirm]).toEqual(['typed', 'once']);
  });
});
