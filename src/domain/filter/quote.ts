const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Any text as a value of the filter grammar, or as a part of a path. */
export function quote(text: string): string {
  return `"${text.replace(/["\\*]/g, '\\$&').replace(/[\n\r\t]/g, (char) => ESCAPES[char] ?? char)}"`;
}
