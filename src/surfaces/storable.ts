/**
 * Texts that PostgreSQL can't keep: those with a NUL, and those with half of a surrogate pair. No stored text has either,
 * so nothing can be found by them, and nothing is gained by carrying them further than the edge.
 */

const UNSTORABLE = /\0|\p{Cs}/u;

export function isStorable(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/** Where in a value such a text is, as the path of keys and indexes to it; null: nowhere. Deep values don't deepen the stack. */
export function unstorablePath(value: unknown): readonly string[] | null {
  const open: Array<{ readonly value: unknown; readonly path: readonly string[] }> = [{ value, path: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: current, path } = next;
    if (typeof current === 'string') {
      if (!isStorable(current)) return path;
      continue;
    }
    if (typeof current !== 'object' || current === null || ArrayBuffer.isView(current)) continue;
    // A oneof of a message goes by the name of the field that is set.
    if ('case' in current && 'value' in current && typeof current.case === 'string') {
      open.push({ value: current.value, path: [...path.slice(0, -1), current.case] });
      continue;
    }
    for (const [key, entry] of Object.entries(current)) {
      const inner = [...path, key];
      if (!isStorable(key)) return inner;
      open.push({ value: entry, path: inner });
    }
  }
  return null;
}
