import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sortableId } from './id.ts';
import { checkOperationId } from './machine/machine-input.ts';

const moment = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const bytes = fc.uint8Array({ minLength: 10, maxLength: 10 });

describe('sortableId', () => {
  it('sorts by the time at which it was made', () => {
    fc.assert(
      fc.property(moment, moment, bytes, bytes, (first, second, some, others) => {
        fc.pre(first !== second);
        const earlier = sortableId('op', first, some) < sortableId('op', second, others);
        expect(earlier).toBe(first < second);
      }),
    );
  });

  it('keeps every random bit, so two of the same millisecond differ', () => {
    fc.assert(
      fc.property(moment, bytes, bytes, (now, some, others) => {
        const same = Buffer.compare(some, others) === 0;
        expect(sortableId('op', now, some) === sortableId('op', now, others)).toBe(same);
      }),
    );
  });

  it('is the time and then the random bits, in base 32', () => {
    const inBase32 = (now: number, some: Uint8Array) => {
      let bits = BigInt(now);
      for (const byte of some) bits = (bits << 8n) | BigInt(byte);
      const digits = '0123456789abcdefghjkmnpqrstvwxyz';
      return Array.from(
        { length: 26 },
        (_none, at) => digits[Number((bits >> BigInt(125 - 5 * at)) & 31n)],
      ).join('');
    };
    fc.assert(
      fc.property(moment, bytes, (now, some) => {
        expect(sortableId('op', now, some)).toBe(`op-${inBase32(now, some)}`);
      }),
    );
  });

  it('is an id that the API takes', () => {
    fc.assert(
      fc.property(moment, bytes, (now, some) => checkOperationId(sortableId('op', now, some)).length === 29),
    );
  });

  it('refuses too little randomness', () => {
    expect(() => sortableId('op', 0, new Uint8Array(9))).toThrow(RangeError);
  });
});
