import { describe, expect, it } from 'vitest';
import { eraseOutcome } from '../../../domain/install/erasure.ts';
import * as input from './erase-input.ts';

const readErased = (given: unknown) => input.readErased(given, 'erase', () => {});

const disk = (fields: Record<string, unknown>) => {
  const erased = readErased({ disks: [{ name: 'nvme0n1', ...fields }] });
  if (!erased) throw new Error('nothing was read');
  return { outcome: eraseOutcome(erased), disk: erased.disks[0] };
};

describe('what a machine reports of its disks', () => {
  it('is kept as it is where it can be read', () => {
    const fields = {
      model: 'QEMU NVMe Ctrl',
      serial: 'S1',
      size_bytes: 1024,
      method: 'nvme-format',
      result: 'erased',
      verified: '64 samples are zero',
      not_done: '',
      seconds: 2,
    };
    expect(disk(fields)).toEqual({ outcome: 'erased', disk: { name: 'nvme0n1', ...fields } });
  });

  it.each([
    ['an unknown result', { method: 'nvme-format', result: 'wiped' }, 'partial'],
    ['an unknown method', { method: 'shredder', result: 'erased' }, 'failed'],
    ['neither', {}, 'failed'],
    ['an overwrite of the ends', { method: 'overwrite-partial', result: 'erased' }, 'partial'],
  ])('never claims more than it shows: %s', (_name, fields, outcome) => {
    expect(disk(fields).outcome).toBe(outcome);
  });

  it('loses no more than what is wrong with it', () => {
    const { disk: kept } = disk({
      method: 'ata-enhanced',
      result: 'erased',
      serial: { number: 7 },
      size_bytes: 'much',
      model: `a\u0000b${'x'.repeat(400)}`,
      seconds: [],
    });
    expect(kept).toMatchObject({ result: 'erased', serial: '', size_bytes: null, seconds: null });
    expect(kept?.model).toHaveLength(300);
    expect(kept?.model.startsWith('a b')).toBe(true);
    expect(readErased({ disks: [[], 'x', { method: 'none', result: 'failed' }] })?.disks).toMatchObject([
      { name: 'disk 1', result: 'failed' },
      { name: 'others', result: 'partial', not_done: expect.stringContaining('2 further disks') },
    ]);
  });

  it('is not made better by entries that can’t be read, or are too many', () => {
    const good = { name: 'sda', method: 'overwrite-full', result: 'erased' };
    for (const disks of [[good, 'sdb'], [null, good], Array.from({ length: 1025 }, () => good)]) {
      const erased = readErased({ disks });
      expect(erased && eraseOutcome(erased)).toBe('partial');
      expect(erased?.disks.at(-1)?.not_done).toContain('1 further disk:');
    }
  });

  it.each([null, 'erased', 3, [[]]])('%j is not read', (given) => {
    expect(readErased(given)).toBeUndefined();
  });

  it('proves nothing without a disk', () => {
    expect(eraseOutcome(readErased({ disks: 'all' }) ?? { disks: [], skipped: [] })).toBe('unproven');
  });
});
