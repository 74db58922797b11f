import { describe, expect, it } from 'vitest';
import { positionIn } from './list-position.ts';

function listOf(...ids: string[]) {
  return { ids, positions: new Map(ids.map((id, place) => [id, place])) };
}

describe('a position in the list', () => {
  const list = { ...listOf('a', 'b', 'c', 'd', 'e'), key: '' };
  const at = (row: number, offset = 5, marked = -1) => ({ list, row, offset, marked });

  it('follows the machine at the top of the screen and the highlighted one', () => {
    expect(positionIn(listOf('x', 'y', 'd', 'c'), at(2, 5, 3))).toEqual({ row: 3, offset: 5, marked: 2 });
    expect(positionIn(listOf('c', 'd'), at(2, 5, 1))).toEqual({ row: 0, offset: 5, marked: -1 });
  });

  it('moves to the next machine that still exists, or to the end', () => {
    expect(positionIn(listOf('x', 'd', 'e'), at(1))).toEqual({ row: 1, offset: 0, marked: -1 });
    expect(positionIn(listOf('a', 'b'), at(3))).toEqual({ row: 1, offset: 0, marked: -1 });
    expect(positionIn(listOf(), at(3))).toEqual({ row: 0, offset: 0, marked: -1 });
  });

  it('stays at the top, so that rows added above are visible', () => {
    expect(positionIn(listOf('new', 'a', 'b'), at(0, 0))).toMatchObject({ row: 0, offset: 0 });
  });
});
