/**
 * Counts the values and the depth of a JSON text before it is parsed: what follows the parser spends microseconds on each
 * value. A text that is not JSON is left for the parser to refuse.
 */

export interface JsonLimits {
  readonly values: number;
  readonly depth: number;
}

const [QUOTE = 0, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] =
  Buffer.from('"\\,[]{}');

/** Why a text is refused; null: it is small enough, or not JSON. */
export function tooManyValues(bytes: Uint8Array, limits: JsonLimits): string | null {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at + 1);
    else if (byte === COMMA) values += 1;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      values += 1;
      if (depth > limits.depth) return `it is nested more than ${limits.depth} levels deep`;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    if (values > limits.values) return `it has more than ${limits.values} values`;
  }
  return null;
}

/** Where the quote is that ends a text: the first one that an even number of backslashes precedes. */
function endOfText(bytes: Uint8Array, start: number): number {
  for (let quote = bytes.indexOf(QUOTE, start); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let before = quote - 1;
    while (before >= start && bytes[before] === BACKSLASH) before -= 1;
    if ((quote - 1 - before) % 2 === 0) return quote;
  }
  return bytes.length;
}
