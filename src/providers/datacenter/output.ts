/** What a command prints, made fit for a log and for an answer, in memory that does not grow with it. */
import { StringDecoder } from 'node:string_decoder';

const MAX_LINE = 4096;
const MAX_KEPT = 64 * 1024;

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

/** The beginning of what was printed. */
export class KeptOutput {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  write(bytes: Buffer): void {
    if (this.#size >= MAX_KEPT) return;
    const kept = bytes.subarray(0, MAX_KEPT - this.#size);
    this.#chunks.push(Buffer.from(kept));
    this.#size += kept.length;
  }

  toString(): string {
    // A character that was cut in half at the end is left out.
    return new StringDecoder('utf8').write(Buffer.concat(this.#chunks));
  }
}
