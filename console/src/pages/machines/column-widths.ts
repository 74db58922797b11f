/**
 * Which columns there is room for, and how wide they are. An id is what tells machines apart, so its column takes what the longest id
 * of the list needs. Columns that lose least by it give way first: their cells are cut where it matters least. Where that is not
 * enough, columns go, those first whose cells the state says too; a column that someone chose stays, and the table scrolls.
 */
import { columnFacts, FIXED_COLUMN } from './view.ts';

/** Of the mono font at its usual size, and the padding of a cell. */
const CHARACTER = 7.85;
const PADDING = 18;
/** A longer id is cut. */
const LONGEST = 28;
/** What is left of each, in the order in which they give way. */
const LEAST = { location: 96, conditions: 112 } as const;
/** What is left of the state where nothing else is left to go. */
const LEAST_STATE = 160;
/** The first goes first. */
const PRIORITY = [
  'last_keepalive',
  'provider',
  'conditions',
  'effective_since',
  'location',
  'doing',
] as const satisfies readonly string[];

export interface Room {
  /** Of all columns; Infinity before it was measured. */
  readonly width: number;
  /** In characters; 0: ids may be cut. */
  readonly longestId: number;
}

export function columnWidths(
  chosen: readonly string[],
  { width: room, longestId }: Room,
): ReadonlyMap<string, number> {
  const widths = new Map(chosen.map((id) => [id, columnFacts(id).width]));
  const usual = columnFacts(FIXED_COLUMN).width;
  const characters = Math.min(longestId, LONGEST);
  widths.set(FIXED_COLUMN, Math.max(usual, Math.ceil(characters * CHARACTER + PADDING)));
  for (const id of PRIORITY) {
    if (sumOf([...widths].map(([column, width]) => leastOf(column, width))) <= room) break;
    widths.delete(id);
  }
  for (const id of Object.keys(LEAST)) {
    const width = widths.get(id);
    if (width === undefined) continue;
    const missing = Math.max(0, sumOf([...widths.values()]) - room);
    widths.set(id, Math.max(leastOf(id, width), width - missing));
  }
  const state = widths.get('headline');
  const over = sumOf([...widths.values()]) - room;
  if (state !== undefined && over > 0) widths.set('headline', Math.max(LEAST_STATE, state - over));
  return widths;
}

function leastOf(id: string, width: number): number {
  return Object.hasOwn(LEAST, id) ? LEAST[id as keyof typeof LEAST] : width;
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0);
}
