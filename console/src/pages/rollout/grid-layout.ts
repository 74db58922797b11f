/**
 * Where each machine of a rollout is in its grid: one band for each wave, in it one cell for each machine, in the order of
 * their turn. A machine keeps its cell for as long as the window keeps its width.
 */
export interface Band {
  readonly wave: number;
  /** Of its title. */
  readonly top: number;
  /** The index of its first machine. */
  readonly first: number;
  readonly count: number;
}

export interface GridLayout {
  /** From the start of one cell to the start of the next. */
  readonly pitch: number;
  readonly columns: number;
  readonly bands: readonly Band[];
  readonly height: number;
}

export const TITLE_PX = 24;
const BAND_GAP_PX = 10;
/** Beside the cells, for the mark around one. */
const SIDE_PX = 2;

/** The more machines, the smaller their cells: ten thousand fit into two windows at most. */
const PITCHES = [
  { upTo: 300, pitch: 24 },
  { upTo: 1_500, pitch: 18 },
  { upTo: 5_000, pitch: 12 },
  { upTo: 20_000, pitch: 9 },
  { upTo: Number.POSITIVE_INFINITY, pitch: 7 },
] as const;

/** Between two cells. */
export function gapOf(pitch: number): number {
  return pitch >= 12 ? 2 : 1;
}

/** The waves of the machines in the order of their turn. */
export function layoutGrid(waves: readonly number[], width: number): GridLayout {
  const { pitch } = PITCHES.find(({ upTo }) => waves.length <= upTo) ?? PITCHES[0];
  const columns = Math.max(1, Math.floor((width - 2 * SIDE_PX) / pitch));
  const bands: Band[] = [];
  let top = 0;
  let first = 0;
  while (first < waves.length) {
    const wave = waves[first] ?? 0;
    let end = first;
    while (end < waves.length && waves[end] === wave) end += 1;
    const count = end - first;
    bands.push({ wave, top, first, count });
    top += TITLE_PX + Math.ceil(count / columns) * pitch + BAND_GAP_PX;
    first = end;
  }
  return { pitch, columns, bands, height: Math.max(0, top - BAND_GAP_PX) };
}

function bandOf({ bands }: GridLayout, index: number): Band | undefined {
  return bands.findLast(({ first }) => first <= index);
}

export function placeOf(layout: GridLayout, index: number): { x: number; y: number } {
  const band = bandOf(layout, index);
  if (!band) return { x: 0, y: 0 };
  const offset = index - band.first;
  return {
    x: SIDE_PX + (offset % layout.columns) * layout.pitch,
    y: band.top + TITLE_PX + Math.floor(offset / layout.columns) * layout.pitch,
  };
}

/** The index of the machine at a point; -1: none. */
export function cellAt(layout: GridLayout, x: number, y: number): number {
  const { pitch, columns, bands } = layout;
  const band = bands.findLast(({ top }) => top + TITLE_PX <= y);
  const column = Math.floor((x - SIDE_PX) / pitch);
  if (!band || column < 0 || column >= columns) return -1;
  const offset = Math.floor((y - band.top - TITLE_PX) / pitch) * columns + column;
  return offset < band.count ? band.first + offset : -1;
}

export type Direction = 'left' | 'right' | 'up' | 'down' | 'first' | 'last';

/** The cell that a key moves to. Up and down also go from wave to wave. */
export function neighbour(layout: GridLayout, index: number, direction: Direction): number {
  const last = layout.bands.reduce((sum, { count }) => sum + count, 0) - 1;
  if (index < 0) return Math.min(0, last);
  const { x, y } = placeOf(layout, index);
  const vertical = (to: number) => (to === -1 ? index : to);
  switch (direction) {
    case 'left':
      return Math.max(0, index - 1);
    case 'right':
      return Math.min(last, index + 1);
    case 'first':
      return 0;
    case 'last':
      return last;
    case 'up':
      return vertical(cellAbove(layout, x, y));
    case 'down':
      return vertical(cellBelow(layout, x, y));
  }
}

function cellAbove(layout: GridLayout, x: number, y: number): number {
  const { pitch } = layout;
  const inBand = cellAt(layout, x, y - pitch);
  if (inBand !== -1) return inBand;
  const band = layout.bands.findLast(({ top }) => top + TITLE_PX < y);
  return band ? nearestInRow(layout, band, Math.floor((band.count - 1) / layout.columns), x) : -1;
}

function cellBelow(layout: GridLayout, x: number, y: number): number {
  const { pitch, columns } = layout;
  const inBand = cellAt(layout, x, y + pitch);
  if (inBand !== -1) return inBand;
  const current = layout.bands.findLast(({ top }) => top + TITLE_PX <= y);
  if (!current) return -1;
  const row = Math.floor((y - current.top - TITLE_PX) / pitch);
  const lastRow = Math.floor((current.count - 1) / columns);
  // The last row of a band may be shorter than the one above it.
  if (row < lastRow) return current.first + current.count - 1;
  const next = layout.bands.find(({ first }) => first === current.first + current.count);
  return next ? nearestInRow(layout, next, 0, x) : -1;
}

function nearestInRow({ pitch, columns }: GridLayout, band: Band, row: number, x: number): number {
  const offset = row * columns + Math.floor((x - SIDE_PX) / pitch);
  return band.first + Math.min(band.count - 1, offset);
}
