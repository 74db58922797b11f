/**
 * JSON in one form, so that the hash of a value does not depend on how it was written: no spaces, keys sorted, strings
 * with the shortest escapes. It works on text and keeps numbers as they are written: parsed, two different
 * numbers could become the same one. A key that occurs twice stays twice, so that no second value hides behind the first.
 */
export class NotJson extends Error {}

interface Position {
  readonly text: string;
  at: number;
  depth: number;
}

const SPACE = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none of them in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const PLAIN = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
const QUOTE = 34;
const BACKSLASH = 92;
const FIRST_PRINTABLE = 32;
const COMMA = 44;
const CLOSED_OBJECT = 125;
const CLOSED_LIST = 93;
/** Deeper than anything that is stored, and shallow enough for the stack. */
const MAX_DEPTH = 200;

export function canonicalJson(text: string): string {
  if (text === '{}' || text === '[]' || text === 'null') return text;
  const position = { text, at: 0, depth: 0 };
  const value = valueAt(position);
  atEnd(position);
  return value;
}

/** The members of a JSON object: by name, each in canonical form. */
export function membersOf(text: string): ReadonlyMap<string, string> {
  const position = { text, at: 0, depth: 0 };
  skipSpace(position);
  if (text[position.at] !== '{') throw new NotJson('is not a JSON object');
  const members = objectMembers(position);
  atEnd(position);
  const map = new Map(members.map(([key, value]) => [JSON.parse(key) as string, value]));
  if (map.size < members.length) throw new NotJson('has a key twice');
  return map;
}

function valueAt(position: Position): string {
  skipSpace(position);
  switch (position.text[position.at]) {
    case '{': {
      const members = objectMembers(position);
      if (members.length > 1) members.sort(byKey);
      let written = '';
      for (const [key, value] of members) written += `${written === '' ? '' : ','}${key}:${value}`;
      return `{${written}}`;
    }
    case '[':
      return `[${listItems(position).join(',')}]`;
    case '"':
      return stringAt(position);
    default:
      return wordAt(position) ?? taken(position, PLAIN);
  }
}

function byKey([one]: readonly [string, string], [other]: readonly [string, string]): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

const WORDS = ['null', 'true', 'false', '0', '1'] as const;

/** The values that most events have, without a pattern; null: any other, or no JSON. */
function wordAt(position: Position): string | null {
  for (const word of WORDS) {
    if (!position.text.startsWith(word, position.at)) continue;
    const code = position.text.charCodeAt(position.at + word.length);
    if (code !== COMMA && code !== CLOSED_OBJECT && code !== CLOSED_LIST) return null;
    position.at += word.length;
    return word;
  }
  return null;
}

function objectMembers(position: Position): Array<readonly [string, string]> {
  const members: Array<readonly [string, string]> = [];
  enter(position);
  while (!isClosed(position, '}', members.length)) {
    const key = stringAt(position);
    expect(position, ':');
    members.push([key, valueAt(position)]);
  }
  return members;
}

function listItems(position: Position): string[] {
  const items: string[] = [];
  enter(position);
  while (!isClosed(position, ']', items.length)) items.push(valueAt(position));
  return items;
}

function enter(position: Position): void {
  position.at += 1;
  position.depth += 1;
  if (position.depth > MAX_DEPTH) throw new NotJson('is nested too deeply');
}

/** Reads the closing bracket, or the comma before the next member. */
function isClosed(position: Position, bracket: '}' | ']', count: number): boolean {
  skipSpace(position);
  if (position.text[position.at] === bracket) {
    position.at += 1;
    position.depth -= 1;
    return true;
  }
  if (count > 0) expect(position, ',');
  return false;
}

function expect(position: Position, character: string): void {
  skipSpace(position);
  if (position.text[position.at] !== character)
    throw new NotJson(`has no ${character} at position ${position.at}`);
  position.at += 1;
}

/** Every event of the log passes here once, so the common case, a string without escapes, needs no pattern. */
function stringAt(position: Position): string {
  skipSpace(position);
  const { text, at } = position;
  if (text.charCodeAt(at) === QUOTE) {
    for (let end = at + 1; end < text.length; end += 1) {
      const code = text.charCodeAt(end);
      if (code === BACKSLASH || code < FIRST_PRINTABLE) break;
      if (code !== QUOTE) continue;
      position.at = end + 1;
      return text.slice(at, position.at);
    }
  }
  return JSON.stringify(JSON.parse(taken(position, STRING)));
}

function taken(position: Position, pattern: RegExp): string {
  pattern.lastIndex = position.at;
  const [found] = pattern.exec(position.text) ?? [];
  if (found === undefined) throw new NotJson(`is not JSON at position ${position.at}`);
  position.at += found.length;
  return found;
}

function skipSpace(position: Position): void {
  const code = position.text.charCodeAt(position.at);
  if (code > 32) return;
  SPACE.lastIndex = position.at;
  position.at += SPACE.exec(position.text)?.[0].length ?? 0;
}

function atEnd(position: Position): void {
  skipSpace(position);
  if (position.at < position.text.length) throw new NotJson(`has more at position ${position.at}`);
}
