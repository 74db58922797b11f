/**
 * JSON in one form, so that the hash of a value does not depend on how it was written: no spaces, keys sorted, strings
 * with the shortest escapes. It works on text and keeps numbers as they are written: parsed, two different
 * numbers could become the same one. A key that occurs twice stays twice, so that no second value hides behind the first.
 */
export class NotJson extends Error {}

interface Position {
  readonly text: string;
  /** No string of it has an escape, so each ends at the next quote. */
  readonly isUnescaped: boolean;
  at: number;
  depth: number;
}

const SPACE = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none of them in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const PLAIN = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none of them in strings
const ESCAPE_OR_CONTROL = /[\\\u0000-\u001f]/;
const SPACE_CODE = 32;
const QUOTE = 34;
const COMMA = 44;
const CLOSED_OBJECT = 125;
const CLOSED_LIST = 93;
const DIGIT_0 = 48;
const DIGIT_9 = 57;
const LETTER_F = 102;
const LETTER_N = 110;
const LETTER_T = 116;
/** Deeper than anything that is stored, and shallow enough for the stack. */
const MAX_DEPTH = 200;

export function canonicalJson(text: string): string {
  if (text === '{}' || text === '[]' || text === 'null') return text;
  const position = startOf(text);
  const value = valueAt(position);
  atEnd(position);
  return value;
}

/** The members of a JSON object: by name, each in canonical form. */
export function membersOf(text: string): ReadonlyMap<string, string> {
  const position = startOf(text);
  skipSpace(position);
  if (text[position.at] !== '{') throw new NotJson('is not a JSON object');
  const members = objectMembers(position);
  atEnd(position);
  const map = new Map(members.map(([key, value]) => [JSON.parse(key) as string, value]));
  if (map.size < members.length) throw new NotJson('has a key twice');
  return map;
}

function startOf(text: string): Position {
  return { text, isUnescaped: !ESCAPE_OR_CONTROL.test(text), at: 0, depth: 0 };
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
      return plainAt(position);
  }
}

function byKey([one]: readonly [string, string], [other]: readonly [string, string]): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The values that most events have, without a pattern; null: any other, or no JSON. */
function wordAt({ text, at }: Position): string | null {
  switch (text.charCodeAt(at)) {
    case LETTER_N:
      return text.startsWith('null', at) ? 'null' : null;
    case LETTER_T:
      return text.startsWith('true', at) ? 'true' : null;
    case LETTER_F:
      return text.startsWith('false', at) ? 'false' : null;
    case DIGIT_0:
      return '0';
    default:
      return wholeNumberAt(text, at);
  }
}

function wholeNumberAt(text: string, at: number): string | null {
  let end = at;
  while (isDigit(text.charCodeAt(end))) end += 1;
  return end === at ? null : text.slice(at, end);
}

function isDigit(code: number): boolean {
  return code >= DIGIT_0 && code <= DIGIT_9;
}

/** Only before what follows a value: a number may go on with a fraction. */
function plainAt(position: Position): string {
  const word = wordAt(position);
  if (word !== null) {
    const code = position.text.charCodeAt(position.at + word.length);
    if (code === COMMA || code === CLOSED_OBJECT || code === CLOSED_LIST) {
      position.at += word.length;
      return word;
    }
  }
  return taken(position, PLAIN);
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

/** Every event of the log passes here once, so the common case, a text without escapes, needs no pattern. */
function stringAt(position: Position): string {
  skipSpace(position);
  const { text, at } = position;
  if (position.isUnescaped && text.charCodeAt(at) === QUOTE) {
    const end = text.indexOf('"', at + 1);
    if (end > 0) {
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

/** PostgreSQL writes one space after each comma and colon. */
function skipSpace(position: Position): void {
  const { text, at } = position;
  if (text.charCodeAt(at) > SPACE_CODE) return;
  if (text.charCodeAt(at) === SPACE_CODE && text.charCodeAt(at + 1) > SPACE_CODE) {
    position.at += 1;
    return;
  }
  SPACE.lastIndex = at;
  position.at += SPACE.exec(text)?.[0].length ?? 0;
}

function atEnd(position: Position): void {
  skipSpace(position);
  if (position.at < position.text.length) throw new NotJson(`has more at position ${position.at}`);
}
