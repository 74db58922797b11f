/**
 * Texts that PostgreSQL cannot store: those with a NUL or half of a surrogate pair. No stored text has either, so a
 * search for one finds nothing; requests that have one are refused at the edge.
 */

const UNSTORABLE = /\0|\p{Cs}/u;

export function isStorable(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/** A list may have 100,000 texts: to walk through it as through a message costs more than decoding it. */
function isStorableList(value: object): boolean {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string' && isStorable(entry));
}

/** The path of keys and indexes to such a text in a value; null: there is none. Nesting does not use the stack. */
export function unstorablePath(value: unknown): readonly string[] | null {
  const open: Array<{ readonly value: unknown; readonly path: readonly string[] }> = [{ value, path: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: current, path } = next;
    if (typeof current === 'string') {
      if (!isStorable(current)) return path;
      continue;
    }
    if (typeof current !== 'object' || current === null || ArrayBuffer.isView(current)) continue;
    if (isStorableList(current)) continue;
    // A oneof is named after its field that is set.
    if ('case' in current && 'value' in current && typeof current.case === 'string') {
      open.push({ value: current.value, path: [...path.slice(0, -1), current.case] });
      continue;
    }
    for (const key of keysOf(current)) {
      const entry = (current as Readonly<Record<string | number, unknown>>)[key];
      // A list may have 100,000 texts: a path for each would cost more than decoding them.
      if (isStorableKey(key) && (typeof entry === 'string' ? isStorable(entry) : typeof entry !== 'object'))
        continue;
      const inner = [...path, String(key)];
      if (!isStorableKey(key)) return inner;
      open.push({ value: entry, path: inner });
    }
  }
  return null;
}

/** Indexes of lists stay numbers. */
function keysOf(value: object): Iterable<string | number> {
  return Array.isArray(value) ? value.keys() : Object.keys(value);
}

function isStorableKey(key: string | number): boolean {
  return typeof key === 'number' || isStorable(key);
}
