import { describe, expect, it } from 'vitest';
import { collectAdjustments, lenientCount, lenientLine, lenientList, lenientObject } from './lenient.ts';

const reader = lenientObject({
  disks: lenientList(lenientObject({ name: lenientLine(8), size_bytes: lenientCount(0, 1e15) }), 3),
});

function readWithNotes(value: unknown) {
  const { note, noted } = collectAdjustments();
  return { read: reader(value, 'inventory', note), noted: noted() };
}

describe('a nested report', () => {
  it('keeps what is valid and names each place that is not', () => {
    const disks = [{ name: 'sda', size_bytes: '500' }, 'sdb', { name: 'much-too-long', colour: 1 }, {}];
    expect(readWithNotes({ disks })).toEqual({
      read: { disks: [{ name: 'sda', size_bytes: 500 }, { name: 'much-too' }] },
      noted: {
        'inventory.disks': 'cut: the first 3 of 4 members are kept',
        'inventory.disks.1': 'dropped: a string is no object',
        'inventory.disks.2.name': 'cut: the first 8 of 13 characters are kept',
        'inventory.disks.2.colour': 'dropped: there is no such field',
      },
    });
  });

  it.each([7, 'text', true, []])('%j is dropped and noted', (value) => {
    expect(readWithNotes(value)).toEqual({ read: undefined, noted: { inventory: expect.any(String) } });
  });

  it('says nothing of what was not said', () => {
    expect(readWithNotes(null)).toEqual({ read: undefined, noted: {} });
    expect(readWithNotes({ disks: null })).toEqual({ read: {}, noted: {} });
  });
});
