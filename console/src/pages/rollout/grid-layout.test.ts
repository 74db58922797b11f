import { describe, expect, it } from 'vitest';
import { cellAt, layoutGrid, neighbour, placeOf } from './grid-layout.ts';

const wavesOf = (...sizes: number[]) => sizes.flatMap((size, index) => Array(size).fill(index + 1));

describe('the grid of a rollout', () => {
  it('has a band for each wave, and finds the machine of every cell again', () => {
    const layout = layoutGrid(wavesOf(1, 12, 70), 244);
    expect(layout.bands.map(({ wave, first, count }) => [wave, first, count])).toEqual([
      [1, 0, 1],
      [2, 1, 12],
      [3, 13, 70],
    ]);
    for (let index = 0; index < 83; index += 1) {
      const { x, y } = placeOf(layout, index);
      expect(cellAt(layout, x + 1, y + 1)).toBe(index);
      expect(y + layout.pitch).toBeLessThanOrEqual(layout.height);
    }
  });

  it('has no machine beside, between and below the cells', () => {
    const layout = layoutGrid(wavesOf(1, 12), 244);
    const { x, y } = placeOf(layout, 0);
    expect(cellAt(layout, x + layout.pitch + 1, y + 1)).toBe(-1);
    expect(cellAt(layout, x, y - 2)).toBe(-1);
    expect(cellAt(layout, 243, y)).toBe(-1);
    expect(cellAt(layout, 0, layout.height + 50)).toBe(-1);
  });

  it('shows ten thousand machines in cells that are large enough to see, in a page of two windows', () => {
    const layout = layoutGrid(wavesOf(1, 999, 9_000), 1_180);
    expect(layout.pitch).toBeGreaterThanOrEqual(9);
    expect(layout.height).toBeLessThan(1_000);
  });

  it('keys move through all waves, and never out of the grid', () => {
    const layout = layoutGrid(wavesOf(1, 12, 3), 244);
    expect(neighbour(layout, -1, 'down')).toBe(0);
    expect(neighbour(layout, 0, 'down')).toBe(1);
    expect(neighbour(layout, 1, 'down')).toBe(11);
    // The second row of the wave has two machines only.
    expect(neighbour(layout, 5, 'down')).toBe(12);
    expect(neighbour(layout, 12, 'down')).toBe(14);
    expect(neighbour(layout, 14, 'up')).toBe(12);
    expect(neighbour(layout, 1, 'up')).toBe(0);
    expect(neighbour(layout, 15, 'right')).toBe(15);
    expect(neighbour(layout, 15, 'down')).toBe(15);
    expect(neighbour(layout, 0, 'left')).toBe(0);
    expect(neighbour(layout, 3, 'last')).toBe(15);
  });
});
