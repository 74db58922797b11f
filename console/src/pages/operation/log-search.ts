/** Searches a growing log incrementally: each line is searched once. */
import type { LogBuffer } from './log-buffer.ts';

export interface TextPart {
  readonly text: string;
  readonly isMatch: boolean;
}

const SPECIAL = /[\\^$.*+?()[\]{}|/]/g;

export class LogSearch {
  readonly #pattern: RegExp | null;
  #hits: number[] = [];
  /** The first line that was not searched yet. */
  #next = 0;

  /** Case-insensitive, and literal: no character of the query is special. */
  constructor(query: string) {
    this.#pattern = query === '' ? null : new RegExp(query.replace(SPECIAL, '\\$&'), 'giu');
  }

  /** The numbers of the matching lines in the buffer, in order. */
  hits(buffer: LogBuffer): readonly number[] {
    if (this.#pattern === null) return this.#hits;
    const gone = firstNotBelow(this.#hits, buffer.dropped);
    if (gone > 0) this.#hits = this.#hits.slice(gone);
    const found: number[] = [];
    for (let index = Math.max(0, this.#next - buffer.dropped); index < buffer.size; index += 1) {
      const line = buffer.at(index);
      if (!line) continue;
      this.#pattern.lastIndex = 0;
      if (this.#pattern.test(line.text)) found.push(line.number);
    }
    this.#next = buffer.dropped + buffer.size;
    if (found.length > 0) this.#hits = [...this.#hits, ...found];
    return this.#hits;
  }

  /** A line's text, cut where matches begin and end. */
  parts(text: string): readonly TextPart[] {
    if (this.#pattern === null) return [{ text, isMatch: false }];
    const parts: TextPart[] = [];
    let end = 0;
    this.#pattern.lastIndex = 0;
    for (const match of text.matchAll(this.#pattern)) {
      if (match.index > end) parts.push({ text: text.slice(end, match.index), isMatch: false });
      parts.push({ text: match[0], isMatch: true });
      end = match.index + match[0].length;
    }
    if (end < text.length || parts.length === 0) parts.push({ text: text.slice(end), isMatch: false });
    return parts;
  }
}

/** The index of the first hit at or after a line; the number of hits if there is none. */
export function firstNotBelow(hits: readonly number[], line: number): number {
  let low = 0;
  let high = hits.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((hits[middle] ?? 0) < line) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The next or previous hit from a line, wrapping around; null without hits. */
export function hitBeside(hits: readonly number[], line: number, side: 'next' | 'previous'): number | null {
  if (hits.length === 0) return null;
  const place = side === 'next' ? firstNotBelow(hits, line + 1) : firstNotBelow(hits, line) - 1;
  return hits[(place + hits.length) % hits.length] ?? null;
}
