/**
 * The lines of one log, up to a limit: the oldest are dropped first, and their number is known. A line keeps its number
 * after others were dropped, so that references to it stay valid.
 */

export interface LogLine {
  /** Counted from 0, including dropped lines. */
  readonly number: number;
  readonly at: number;
  readonly stream: string;
  readonly step: string;
  readonly text: string;
}

export interface LogLimits {
  readonly lines: number;
  readonly characters: number;
}

/** More than the server keeps of an operation. */
const LOG_LIMITS: LogLimits = { lines: 250_000, characters: 32_000_000 };

/** The share that is dropped at once: dropping lines one by one would move all others each time. */
const DROPPED_AT_ONCE = 0.1;

export class LogBuffer {
  readonly #limits: LogLimits;
  #lines: LogLine[] = [];
  #dropped = 0;
  #characters = 0;
  #longest = 0;

  constructor(limits: LogLimits = LOG_LIMITS) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#lines.length;
  }

  /** How many lines were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The length of the longest line, including dropped ones. */
  get longest(): number {
    return this.#longest;
  }

  /** By index among the lines in the buffer. */
  at(index: number): LogLine | undefined {
    return this.#lines[index];
  }

  append(line: Omit<LogLine, 'number'>): void {
    this.#lines.push({ ...line, number: this.#dropped + this.#lines.length });
    this.#characters += line.text.length;
    this.#longest = Math.max(this.#longest, line.text.length);
    if (this.#lines.length > this.#limits.lines || this.#characters > this.#limits.characters) this.#drop();
  }

  #drop(): void {
    const { lines, characters } = this.#limits;
    let count = 0;
    let held = this.#characters;
    const fewer = Math.floor(lines * (1 - DROPPED_AT_ONCE));
    const less = characters * (1 - DROPPED_AT_ONCE);
    // The newest line always stays, however long it is.
    while (count < this.#lines.length - 1 && (this.#lines.length - count > fewer || held > less)) {
      held -= this.#lines[count]?.text.length ?? 0;
      count += 1;
    }
    this.#lines = this.#lines.slice(count);
    this.#dropped += count;
    this.#characters = held;
  }

  /** The whole buffer as a file. */
  text(lineText: (line: LogLine) => string): string {
    const head = this.#dropped > 0 ? [`(the first ${this.#dropped} lines are omitted)`] : [];
    return [...head, ...this.#lines.map(lineText), ''].join('\n');
  }
}
