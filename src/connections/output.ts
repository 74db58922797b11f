/** What a command prints, made fit for a log and for an answer, in memory that does not grow with it. */
import { StringDecoder } from 'node:string_decoder';

const MAX_LINE = 4096;
const HALF_KEPT = 32 * 1024;

/** Cuts a stream of bytes into lines; a line that is too long goes on in the next one. */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #emit: (line: string) => void;
  #rest = '';

  constructor(emit: (line: string) => void) {
    this.#emit = emit;
  }

  write(bytes: Buffer): void {
    this.#take(this.#decoder.write(bytes));
  }

  end(): void {
    this.#take(this.#decoder.end());
    if (this.#rest !== '') this.#emitLine(this.#rest);
    this.#rest = '';
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#emitLine(line);
    while (this.#rest.length > MAX_LINE) this.#rest = this.#emitPiece(this.#rest);
  }

  #emitLine(line: string): void {
    let rest = line.endsWith('\r') ? line.slice(0, -1) : line;
    while (rest.length > MAX_LINE) rest = this.#emitPiece(rest);
    this.#emit(rest);
  }

  /** Never between the halves of a surrogate pair. */
  #emitPiece(text: string): string {
    const last = text.charCodeAt(MAX_LINE - 1);
    const cut = last >= 0xd800 && last <= 0xdbff ? MAX_LINE - 1 : MAX_LINE;
    this.#emit(text.slice(0, cut));
    return text.slice(cut);
  }
}

/** The first and the last part of what was printed. */
export class KeptOutput {
  readonly #first: Buffer[] = [];
  #firstSize = 0;
  #last: Buffer[] = [];
  #lastSize = 0;
  #leftOut = 0;

  write(bytes: Buffer): void {
    const first = bytes.subarray(0, HALF_KEPT - this.#firstSize);
    if (first.length > 0) this.#first.push(Buffer.from(first));
    this.#firstSize += first.length;
    const rest = bytes.subarray(first.length);
    if (rest.length === 0) return;
    this.#last.push(Buffer.from(rest));
    this.#lastSize += rest.length;
    if (this.#lastSize > 2 * HALF_KEPT) this.#dropMiddle();
  }

  toString(): string {
    this.#dropMiddle();
    if (this.#leftOut === 0) return whole([...this.#first, ...this.#last]);
    const leftOut = this.#leftOut.toLocaleString('en-US');
    return `${whole(this.#first)}\n… ${leftOut} bytes left out …\n${whole(this.#last)}`;
  }

  #dropMiddle(): void {
    const last = Buffer.concat(this.#last);
    let from = Math.max(0, last.length - HALF_KEPT);
    while (from > 0 && isContinuation(last[from])) from += 1;
    this.#leftOut += from;
    this.#last = [last.subarray(from)];
    this.#lastSize = last.length - from;
  }
}

/** A character that was cut in half at the end is left out. */
function whole(chunks: readonly Buffer[]): string {
  return new StringDecoder('utf8').write(Buffer.concat(chunks));
}

/** Of a character of several bytes, one that is not its first. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
