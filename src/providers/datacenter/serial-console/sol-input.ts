/**
 * ipmitool reads escapes from what it is typed to: after the end of a line, an escape character and a command. What people type must
 * never be one, so an escape character of theirs is typed twice there, which ipmitool takes for one.
 */
export const ESCAPE = '\x1d';
const ESCAPE_BYTE = ESCAPE.charCodeAt(0);
const CR = 0x0d;
const LF = 0x0a;

export class SolInput {
  /** ipmitool starts as if a line had ended. */
  #atLineStart = true;

  typed(bytes: Uint8Array): Buffer {
    const out: number[] = [];
    for (const byte of bytes) {
      if (this.#atLineStart && byte === ESCAPE_BYTE) out.push(ESCAPE_BYTE);
      out.push(byte);
      this.#atLineStart = byte === CR || byte === LF;
    }
    return Buffer.from(out);
  }

  /** It takes the command only at the start of a line, so a line ends before it where none has. */
  break(): Buffer {
    const end = this.#atLineStart ? '' : '\r';
    this.#atLineStart = false;
    return Buffer.from(`${end}${ESCAPE}B`);
  }
}
