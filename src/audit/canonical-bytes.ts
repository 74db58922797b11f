/**
 * Canonical JSON as bytes, in one buffer for one object after the other. Every event of the log is sealed once, and the texts of which
 * canonicalJson makes it would be a fifth of all that a busy server allocates.
 *
 * It is for values that PostgreSQL has checked: a text without lone surrogates, and JSON. Of JSON it writes what most events have: no escapes, only
 * ASCII, and keys that are in their order. For anything else it takes what canonicalJson and JSON.stringify make.
 */
import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSED_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSED_OBJECT = 125;
/** The first character that is more than a byte in UTF-8. */
const BEYOND_ASCII = 128;
/** A character that is escaped, such as `\u001f`. */
const BYTES_OF_CHARACTER = 6;
const MAX_DEPTH = 50;
const USUAL_BYTES = 16 * 1024;
/** More is given back after the object that needed it. */
const KEPT_BYTES = 256 * 1024;

export class CanonicalBytes {
  #bytes = Buffer.allocUnsafeSlow(USUAL_BYTES);
  #at = 0;
  #text = '';
  #from = 0;
  #depth = 0;

  /** Forgets what was written before. */
  start(): void {
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(USUAL_BYTES);
    this.#at = 0;
  }

  /** As it is: brackets and names, which are ASCII. */
  plain(text: string): void {
    this.#reserve(text.length);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let from = 0; from < text.length; from += 1) bytes[at++] = text.charCodeAt(from);
    this.#at = at;
  }

  /** A string. */
  text(value: string): void {
    this.#reserve(value.length * BYTES_OF_CHARACTER + 2);
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at++] = QUOTE;
    for (let from = 0; from < value.length; from += 1) {
      const code = value.charCodeAt(from);
      if (needsMore(code) || code === QUOTE) {
        this.#write(JSON.stringify(value));
        return;
      }
      bytes[at++] = code;
    }
    bytes[at++] = QUOTE;
    this.#at = at;
  }

  /** A value that is written as JSON. */
  json(written: string): void {
    this.#reserve(written.length * BYTES_OF_CHARACTER);
    const start = this.#at;
    this.#text = written;
    this.#from = 0;
    this.#depth = 0;
    const isUsual = this.#value();
    this.#text = '';
    if (isUsual) return;
    this.#at = start;
    this.#write(canonicalJson(written));
  }

  sha256(): string {
    return hash('sha256', this.#bytes.subarray(0, this.#at), 'hex');
  }

  #write(text: string): void {
    this.#at += this.#bytes.write(text, this.#at);
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow((this.#at + more) * 2);
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }

  /** False: it is not usual, here and in the methods below. */
  #value(): boolean {
    switch (this.#next()) {
      case OPEN_OBJECT:
        return this.#object();
      case OPEN_LIST:
        return this.#list();
      case QUOTE:
        return this.#string();
      default:
        return this.#word();
    }
  }

  #object(): boolean {
    if (!this.#enter()) return false;
    for (let count = 0, before = 0; !this.#ends(CLOSED_OBJECT, count); count += 1) {
      const key = this.#at;
      if (this.#next() !== QUOTE || !this.#string()) return false;
      if (count > 0 && !this.#isInOrder(before, key)) return false;
      before = key;
      if (this.#next() !== COLON) return false;
      this.#copy();
      if (!this.#value()) return false;
    }
    return true;
  }

  #list(): boolean {
    if (!this.#enter()) return false;
    for (let count = 0; !this.#ends(CLOSED_LIST, count); count += 1) if (!this.#value()) return false;
    return true;
  }

  #enter(): boolean {
    this.#copy();
    this.#depth += 1;
    return this.#depth <= MAX_DEPTH;
  }

  /** Takes the bracket, or the comma before the next value. */
  #ends(bracket: number, count: number): boolean {
    const code = this.#next();
    if (code === bracket) {
      this.#copy();
      this.#depth -= 1;
      return true;
    }
    if (count > 0) this.#copy();
    return false;
  }

  #string(): boolean {
    const text = this.#text;
    const bytes = this.#bytes;
    let { at, from } = { at: this.#at, from: this.#from };
    bytes[at++] = QUOTE;
    for (from += 1; ; from += 1) {
      const code = text.charCodeAt(from);
      // Behind the end it is NaN.
      if (needsMore(code) || from >= text.length) return false;
      bytes[at++] = code;
      if (code === QUOTE) break;
    }
    this.#at = at;
    this.#from = from + 1;
    return true;
  }

  /** A number, true, false or null. */
  #word(): boolean {
    const start = this.#from;
    for (;;) {
      const code = this.#text.charCodeAt(this.#from);
      if (Number.isNaN(code) || code <= SPACE || isBetweenValues(code)) return this.#from > start;
      if (needsMore(code)) return false;
      this.#copy();
    }
  }

  /** The key that was written at `key`, up to the end, comes after the one at `before`. */
  #isInOrder(before: number, key: number): boolean {
    const bytes = this.#bytes;
    for (let offset = 1; ; offset += 1) {
      const one = bytes[before + offset] ?? 0;
      const other = bytes[key + offset] ?? 0;
      if (one !== other) return one < other;
      if (one === QUOTE) return false;
    }
  }

  /** The next character that is no space. */
  #next(): number {
    let code = this.#text.charCodeAt(this.#from);
    while (code <= SPACE) {
      this.#from += 1;
      code = this.#text.charCodeAt(this.#from);
    }
    return code;
  }

  #copy(): void {
    this.#bytes[this.#at++] = this.#text.charCodeAt(this.#from++);
  }
}

/** It is escaped, or more than a byte. */
function needsMore(code: number): boolean {
  return code < SPACE || code === BACKSLASH || code >= BEYOND_ASCII;
}

function isBetweenValues(code: number): boolean {
  return code === COMMA || code === CLOSED_LIST || code === CLOSED_OBJECT;
}
