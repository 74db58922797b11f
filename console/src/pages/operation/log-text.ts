/**
 * Log text as lines that are safe to display. Machines write for terminals: escape sequences are removed, and other
 * control characters, including those that reverse the direction of text, are shown as escapes.
 */

const LINE_BREAK = /\r\n|\n|\r/;

const CSI = '(?:\\u001b\\[|\\u009b)[0-?]*[ -/]*[@-~]';
/** Titles and links: up to their terminator on the same line. */
const OSC = '(?:\\u001b\\]|\\u009d)[^\\u0007\\u001b\\u009c\\u009d]*(?:\\u0007|\\u001b\\\\|\\u009c)';
const SHORT_ESCAPE = '\\u001b[ -/]*[0-Z\\\\^-~]';
const ESCAPES = new RegExp(`${CSI}|${OSC}|${SHORT_ESCAPE}`, 'g');

const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above; a line keeps its tabs
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u200e\u200f\u061c\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const decoder = new TextDecoder();

/** The lines of a chunk. A line break at its end does not start another line. */
export function linesOf(data: Uint8Array): string[] {
  const lines = decoder.decode(data).split(LINE_BREAK);
  if (lines.at(-1) === '') lines.pop();
  return lines.map(plainLine);
}

function plainLine(text: string): string {
  return text.replace(ESCAPES, '').replace(CONTROL, visible);
}

function visible(char: string): string {
  const code = char.charCodeAt(0);
  return code > 0xff
    ? `\\u${code.toString(16).padStart(4, '0')}`
    : `\\x${code.toString(16).padStart(2, '0')}`;
}

/** The zone of the stamps, which is that of all times; off: lines have none. */
export type StampZone = 'off' | 'local' | 'utc';

/** The time of day to the millisecond. */
export function stampText(at: number, zone: Exclude<StampZone, 'off'>): string {
  const date = new Date(at);
  if (zone === 'utc') return date.toISOString().slice(11, 23);
  const two = (value: number) => String(value).padStart(2, '0');
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
