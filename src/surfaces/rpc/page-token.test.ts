import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseScope } from '../../domain/access/scope.ts';
import { Fault } from '../../domain/error/fault.ts';
import { cursorOf, MAX_PAGE, pageSize, pageToken, readCursor, readPageToken } from './page-token.ts';

const id = fc.stringMatching(/^[A-Za-z0-9._-]{1,128}$/);
const position = fc.tuple(fc.maxSafeNat(), fc.maxSafeNat());
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function refused(act: () => unknown): Fault {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('was not refused');
}

describe('a page', () => {
  it.each([
    [0, 100],
    [1, 1],
    [999, 999],
    [1_000, 1_000],
    [1_001, 1_000],
    [2 ** 31 - 1, 1_000],
  ])('of %i asked for has at most %i', (asked, size) => {
    expect(pageSize(asked)).toBe(size);
    expect(size).toBeLessThanOrEqual(MAX_PAGE);
  });

  it('can’t be of less than nothing', () => {
    expect(refused(() => pageSize(-1))).toMatchObject({
      kind: 'invalid_argument',
      metadata: { field: 'page_size' },
    });
  });
});

const MACHINES = { list: 'machines', filter: '', scope: null };
const READY = { list: 'machines', filter: 'phase=READY', scope: parseScope('customer_id=acme') };

describe('a page token', () => {
  it('continues after the key that it was made from', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), id, (list, filter, key) => {
        expect(
          readPageToken({ list, filter, scope: null }, pageToken({ list, filter, scope: null }, key)),
        ).toBe(key);
      }),
    );
  });

  it('is empty on the last page, and an empty one begins at the beginning', () => {
    expect(pageToken(MACHINES, null)).toBe('');
    expect(readPageToken(MACHINES, '')).toBe('');
  });

  it.each([
    ['another list', { ...READY, list: 'operations' }],
    ['another filter', { ...READY, filter: 'phase=MAINTENANCE' }],
    ['another scope', { ...READY, scope: parseScope('customer_id=globex') }],
    ['the whole fleet', { ...READY, scope: null }],
  ])('is no good for %s', (_what, paged) => {
    const token = pageToken(READY, 'm-1');
    expect(readPageToken({ ...READY, scope: parseScope('spec.customer_id = acme') }, token)).toBe('m-1');
    const fault = refused(() => readPageToken(paged, token));
    expect(fault).toMatchObject({
      kind: 'invalid_argument',
      reason: 'INVALID_PAGE_TOKEN',
      metadata: { field: 'page_token' },
    });
    expect(fault.message).toBe('page_token: belongs to another list or filter');
  });

  it.each([
    'x',
    '%%%',
    'bm90IGpzb24',
    encoded(7),
    encoded([]),
    encoded(['a']),
    encoded(['a', 7]),
    encoded({ 0: 'a', 1: 'b', length: 2 }),
    encoded(['a', 'b', 'c']),
    encoded(['a', '']),
    encoded(['a', 'b\0']),
    'A'.repeat(1_025),
  ])('that is made up is refused: %.40s', (token) => {
    const fault = refused(() => readPageToken(MACHINES, token));
    expect(fault.reason).toBe('INVALID_PAGE_TOKEN');
    expect(fault.violations.map(({ subject }) => subject)).toEqual(['page_token']);
  });

  it('of any text at all is read or refused with a fault', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        if (text !== '') expect(refused(() => readPageToken(MACHINES, text))).toBeInstanceOf(Fault);
      }),
    );
  });
});

describe('a cursor', () => {
  it('is the position that it was made from', () => {
    fc.assert(
      fc.property(fc.constantFrom('events' as const, 'log' as const), position, (kind, at) => {
        expect(readCursor(kind, cursorOf(kind, at))).toEqual(at);
      }),
    );
  });

  it('may be absent', () => expect(readCursor('events', '')).toBeNull());

  it('of one kind of stream is no good for the other', () => {
    expect(refused(() => readCursor('log', cursorOf('events', [1, 2]))).reason).toBe('INVALID_CURSOR');
  });

  it.each([
    'x',
    '!',
    encoded([1, 2]),
    encoded(['events', 1]),
    encoded(['events', 1, '2']),
    encoded(['events', -1, 2]),
    encoded(['events', 1.5, 2]),
    encoded(['events', 2 ** 53, 2]),
    encoded(['events', null, 2]),
    encoded(['events', 1, 2, 3]),
    'A'.repeat(1_025),
  ])('that is made up is refused: %.40s', (cursor) => {
    expect(refused(() => readCursor('events', cursor))).toMatchObject({
      kind: 'invalid_argument',
      reason: 'INVALID_CURSOR',
      metadata: { field: 'cursor' },
    });
  });
});
