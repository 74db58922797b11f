/** The known name that is most like a given one, for errors that say what was probably meant. */
export function nearest(given: string, known: readonly string[]): string | null {
  const distances = known.map((name) => ({
    name,
    distance: editDistance(given.toLowerCase(), name.toLowerCase()),
  }));
  return distances.sort((left, right) => left.distance - right.distance)[0]?.name ?? null;
}

/** How many letters have to be added, removed or replaced. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
