/** The known name that is most like a given one, for errors that say what was probably meant. */
export function nearest(given: string, known: readonly string[]): string | null {
  const distances = known.map((name) => ({
    name,
    distance: editDistance(given.toLowerCase(), name.toLowerCase()),
  }));
  return distances.sort((left, right) => left.distance - right.distance)[0]?.name ?? null;
}

/** More letters than this part of a name are not a mistyped one. */
const MISTYPED_PART = 1 / 3;

/**
 * The known name that a person probably meant, null where none is like the given one. The end of a longer name stands for it
 * (`rack`: location.rack), and so does its beginning where no other name has it (`maint`: MAINTENANCE).
 */
export function probablyMeant(given: string, known: readonly string[]): string | null {
  const wanted = given.toLowerCase();
  const longer = known.filter((name) => name.toLowerCase().startsWith(wanted));
  if (longer.length === 1 && wanted.length >= FEWEST_OF_A_BEGINNING) return longer[0] ?? null;
  const most = Math.max(1, Math.floor(wanted.length * MISTYPED_PART));
  const costs = known
    .map((name) => ({ name, cost: costOf(wanted, name.toLowerCase()) }))
    .filter(({ cost }) => Math.floor(cost) <= most && cost < wanted.length);
  return costs.sort((left, right) => left.cost - right.cost)[0]?.name ?? null;
}

/** Less than a letter, and enough that a whole name of the same distance comes first. */
const PART_COST = 0.5;
const FEWEST_OF_A_BEGINNING = 3;

function costOf(given: string, name: string): number {
  const ends = [...name.matchAll(/[._]/g)].map(({ index }) => name.slice(index + 1));
  return Math.min(editDistance(given, name), ...ends.map((end) => editDistance(given, end) + PART_COST));
}

/** How many letters have to be added, removed or replaced, or neighbours to be swapped. */
function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = isSwapped ? (beforePrevious[column - 2] ?? 0) + 1 : replaced;
      current.push(Math.min(replaced, swapped, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}
