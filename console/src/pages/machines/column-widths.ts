/**
 * How wide the columns are. An id is what tells machines apart, so its column takes what the longest id of the list needs, and the
 * columns that lose least by it give way: their cells say the same elsewhere, or are cut where it matters least.
 */
import { columnFacts, FIXED_COLUMN } from './view.ts';

/** Of the mono font at its usual size, and the padding of a cell. */
const CHARACTER = 7.85;
const PADDING = 18;
/** A longer id is cut. */
const LONGEST = 28;
/** What is left of each, in the order in which they give way. */
const LEAST = { location: 96, doing: 112, conditions: 112 } as const;

export function columnWidths(shown: readonly string[], longestId: number): ReadonlyMap<string, number> {
  const widths = new Map(shown.map((id) => [id, columnFacts(id).width]));
  const usual = columnFacts(FIXED_COLUMN).width;
  const wanted = Math.max(usual, Math.ceil(Math.min(longestId, LONGEST) * CHARACTER + PADDING));
  let missing = wanted - usual;
  widths.set(FIXED_COLUMN, wanted);
  for (const [id, least] of Object.entries(LEAST)) {
    const width = widths.get(id);
    if (width === undefined) continue;
    const given = Math.min(missing, width - least);
    widths.set(id, width - given);
    missing -= given;
  }
  return widths;
}
