import type { Fault } from '../error/fault.ts';
import { COMPARATORS, type Comparator, type Pattern } from './ast.ts';
import { invalidFilter, quoted } from './invalid-filter.ts';

/**
 * The tokens of a filter. What a character means depends on its place (`:` compares after a field and
 * is plain text inside a value, `-` negates before a field and is plain text elsewhere), so the parser asks
 * for the token that it expects instead of reading a list of tokens.
 *
 * A bare value with special characters is refused, because `a==b`, `a=b, c=d` and
 * `a=!b` are mistakes and not searches for `=b`, `b,` and `!b`. In quotes everything is plain text but the
 * wildcard, which is escaped as `\*`.
 */
const SPACE = /\s*/y;
const BARE_NAME = /[^\s()"'\\,.:*=!<>]+/y;
const BARE_VALUE = /[^\s()"'\\,=!<>]+/y;
const QUOTED_RUN = /[^"'\\*]+/y;

const KEYWORDS = ['AND', 'OR', 'NOT'] as const;
export type Keyword = (typeof KEYWORDS)[number];

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '\\': '\\',
  '*': '*',
  n: '\n',
  r: '\r',
  t: '\t',
};

export class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get offset(): number {
    return this.#at;
  }

  skipSpace(): void {
    this.#run(SPACE);
  }

  atEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  isNext(symbol: string): boolean {
    return this.#text.startsWith(symbol, this.#at);
  }

  take(symbol: string): boolean {
    if (!this.isNext(symbol)) return false;
    this.#at += symbol.length;
    return true;
  }

  takeKeyword(keyword: Keyword): boolean {
    if (!this.isNext(keyword) || this.#peekRun(BARE_NAME) !== keyword) return false;
    this.#at += keyword.length;
    return true;
  }

  takePath(): string[] {
    const start = this.#at;
    const path = [this.#takeName()];
    // A keyword may be the key of a label, but can't begin a field.
    if (isKeyword(this.#text.slice(start, this.#at))) throw this.unexpected('a field name', start);
    while (this.take('.')) path.push(this.#takeName());
    return path;
  }

  takeComparator(path: readonly string[]): Comparator {
    const comparator = COMPARATORS.find((candidate) => this.take(candidate));
    if (comparator !== undefined) return comparator;
    const name = path.join('.');
    const hint = isKeyword(name.toUpperCase()) ? ` (${name.toUpperCase()} is written in upper case)` : '';
    throw this.unexpected(`a comparator after ${quoted(name)}${hint}`);
  }

  takeValue(): Pattern {
    const start = this.#at;
    const value = this.#takeQuoted() ?? this.#takeBareValue(start);
    // Without this, `a="it"s"` would read as two words side by side.
    if (!this.atEnd() && !this.isNext(')') && this.#peekRun(SPACE) === '') {
      throw this.unexpected('a space (a value with special characters needs quotes)');
    }
    return value;
  }

  /** The fault for the word at `offset`. */
  unexpected(expected: string, offset: number = this.#at): Fault {
    const symbol = this.#text.codePointAt(offset);
    const word =
      this.#peekRun(BARE_NAME, offset) || (symbol === undefined ? '' : String.fromCodePoint(symbol));
    const problem = word === '' ? 'unexpected end' : `unexpected ${quoted(word)}`;
    return invalidFilter({ problem, offset, expected });
  }

  #takeName(): string {
    const quotedName = this.#takeQuoted();
    if (quotedName !== undefined) return quotedName.join('*');
    const name = this.#run(BARE_NAME);
    if (name === '') throw this.unexpected('a field name');
    return name;
  }

  #takeBareValue(start: number): Pattern {
    const text = this.#run(BARE_VALUE);
    if (text === '') throw this.unexpected('a value', start);
    if (isKeyword(text)) throw this.unexpected(`a value (or "${text}" in quotes)`, start);
    return text.split('*') as [string, ...string[]];
  }

  /** The pieces between unescaped stars, or undefined when there is no quote here. */
  #takeQuoted(): Pattern | undefined {
    const open = this.#at;
    const quote = this.#text[open];
    if (quote !== '"' && quote !== "'") return undefined;
    this.#at += 1;
    const pieces: string[] = [];
    let piece = '';
    for (;;) {
      piece += this.#run(QUOTED_RUN);
      if (this.atEnd()) throw invalidFilter({ problem: `no closing ${quote} for the quote`, offset: open });
      const char = this.#text[this.#at] as string;
      this.#at += 1;
      if (char === quote || char === '*') {
        pieces.push(piece);
        piece = '';
        if (char === quote) return pieces as [string, ...string[]];
      } else {
        piece += char === '\\' ? this.#takeEscaped() : char;
      }
    }
  }

  #takeEscaped(): string {
    const escaped = ESCAPES[this.#text[this.#at] ?? ''];
    if (escaped === undefined) {
      const expected = Object.keys(ESCAPES).map((char) => `\\${char}`);
      throw invalidFilter({ problem: 'unknown escape', offset: this.#at - 1, expected: expected.join(' ') });
    }
    this.#at += 1;
    return escaped;
  }

  #peekRun(pattern: RegExp, offset: number = this.#at): string {
    pattern.lastIndex = offset;
    return pattern.exec(this.#text)?.[0] ?? '';
  }

  #run(pattern: RegExp): string {
    const run = this.#peekRun(pattern);
    this.#at += run.length;
    return run;
  }
}

function isKeyword(word: string): word is Keyword {
  return (KEYWORDS as readonly string[]).includes(word);
}
