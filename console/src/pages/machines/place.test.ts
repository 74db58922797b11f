import { describe, expect, it } from 'vitest';
import { placeAfter } from './place.ts';

function listOf(...ids: string[]) {
  return { ids, positions: new Map(ids.map((id, place) => [id, place])) };
}

describe('a place in the list', () => {
  const list = { ...listOf('a', 'b', 'c', 'd', 'e'), key: '' };
  const at = (row: number, offset = 5, marked = -1) => ({ list, row, offset, marked });

  it('is the machine at the top of the screen, wherever it is now, and the one that is marked', () => {
    expect(placeAfter(at(2, 5, 3), listOf('x', 'y', 'd', 'c'))).toEqual({ row: 3, offset: 5, marked: 2 });
    expect(placeAfter(at(2, 5, 1), listOf('c', 'd'))).toEqual({ row: 0, offset: 5, marked: -1 });
  });

  it('is the next machine that is left, or the end', () => {
    expect(placeAfter(at(1), listOf('x', 'd', 'e'))).toEqual({ row: 1, offset: 0, marked: -1 });
    expect(placeAfter(at(3), listOf('a', 'b'))).toEqual({ row: 1, offset: 0, marked: -1 });
    expect(placeAfter(at(3), listOf())).toEqual({ row: 0, offset: 0, marked: -1 });
  });

  it('at the top is the top: what comes in above is seen', () => {
    expect(placeAfter(at(0, 0), listOf('new', 'a', 'b'))).toMatchObject({ row: 0, offset: 0 });
  });
});
