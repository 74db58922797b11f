/**
 * Text from machines and servers (labels, log lines, messages) is printed on terminals, where control characters are
 * commands. All text output goes through here. Bidirectional overrides count as control characters, because they make a line
 * read as something else.
 */
import stringWidth from 'string-width';

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is this file's purpose
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above, but a log line keeps its tabs
const CONTROL_BUT_TAB = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const NOT_ESCAPED_BY_JSON = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

function visible(char: string): string {
  const code = char.charCodeAt(0);
  return code > 0xff ? `\\u${code.toString(16)}` : `\\x${code.toString(16).padStart(2, '0')}`;
}

/** One line, with every control character escaped. */
export function plainText(text: string): string {
  return text.replace(CONTROL, visible);
}

export function plainLogLine(text: string): string {
  return text.replace(CONTROL_BUT_TAB, visible);
}

/** Escapes the control characters that JSON.stringify leaves unescaped. */
export function plainJson(json: string): string {
  return json.replace(
    NOT_ESCAPED_BY_JSON,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Characters of one column each: Latin letters, punctuation, and the marks that this program writes. */
const ONE_COLUMN_EACH = /^[\u0020-\u007e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2713-\u2718]*$/;

/** The number of terminal columns of a text without control characters. */
export function displayWidth(text: string): number {
  // Most texts; the tables of all characters take longer to set up than a list takes to print.
  return ONE_COLUMN_EACH.test(text) ? text.length : stringWidth(text);
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/** Cuts a text to a width, and marks the cut with an ellipsis. */
export function cutTo(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let fitted = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += displayWidth(segment);
    if (used > width - 1) break;
    fitted += segment;
  }
  return `${fitted}…`;
}
