/**
 * Bytes of protobuf messages, written front to back into one buffer that is used again and again. The length of an inner message
 * is not known before it is written: one byte is left for it, and the message moves when it needs more. Nothing here waits, so
 * one writer is enough for the whole process.
 */

const FIRST_BYTES = 64 * 1024;
/** A buffer that one long answer made larger than this is not kept. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** Shorter texts are copied here: a call into the engine costs more. */
const SHORT_TEXT = 24;
const TWO_32 = 0x1_0000_0000;

export class WireWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #at = 0;

  start(): void {
    this.#at = 0;
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  }

  /** A copy of what was written, after so many bytes that the caller fills. */
  finish(headBytes: number): Buffer {
    const result = Buffer.allocUnsafe(headBytes + this.#at);
    this.#bytes.copy(result, headBytes, 0, this.#at);
    return result;
  }

  /** Any number below 2^32: tags, lengths and the like. */
  varint(value: number): void {
    this.#room(5);
    const bytes = this.#bytes;
    let rest = value >>> 0;
    while (rest > 0x7f) {
      bytes[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[this.#at++] = rest;
  }

  /** Negative numbers take ten bytes, as 64-bit numbers do. */
  int32(value: number): void {
    if (value >= 0) this.varint(value);
    else this.int64(BigInt(value));
  }

  /** Any number that is exact: nearly all of 64 bits are times and sizes, and big integers are slow. */
  uint53(value: number): void {
    if (value < TWO_32) this.varint(value);
    else this.#halves(value % TWO_32, Math.floor(value / TWO_32));
  }

  int64(value: bigint): void {
    const whole = BigInt.asUintN(64, value);
    this.#halves(Number(whole & 0xffff_ffffn), Number(whole >> 32n));
  }

  #halves(lowest: number, highest: number): void {
    let low = lowest;
    let high = highest;
    this.#room(10);
    const bytes = this.#bytes;
    while (high > 0) {
      bytes[this.#at++] = (low & 0x7f) | 0x80;
      low = ((high & 0x7f) * 0x200_0000 + (low >>> 7)) % TWO_32;
      high >>>= 7;
    }
    this.varint(low);
  }

  double(value: number): void {
    this.#room(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  text(value: string): void {
    const { length } = value;
    // A UTF-16 unit takes three bytes of UTF-8 at most.
    this.#room(5 + length * 3);
    if (length <= SHORT_TEXT && this.#ascii(value)) return;
    const start = this.open();
    this.#at += this.#bytes.write(value, this.#at, 'utf8');
    this.close(start);
  }

  /** False: the text has other characters, and nothing was written. */
  #ascii(value: string): boolean {
    const bytes = this.#bytes;
    let at = this.#at + 1;
    for (let index = 0; index < value.length; index += 1) {
      const unit = value.charCodeAt(index);
      if (unit > 0x7f) return false;
      bytes[at++] = unit;
    }
    bytes[this.#at] = value.length;
    this.#at = at;
    return true;
  }

  /** Leaves a byte for the length of what follows; `close` takes what this returns. */
  open(): number {
    this.#room(1);
    this.#at += 1;
    return this.#at;
  }

  close(start: number): void {
    const length = this.#at - start;
    if (length <= 0x7f) {
      this.#bytes[start - 1] = length;
      return;
    }
    const more = length < 0x4000 ? 1 : length < 0x20_0000 ? 2 : length < 0x1000_0000 ? 3 : 4;
    this.#room(more);
    this.#bytes.copyWithin(start + more, start, this.#at);
    const end = this.#at + more;
    this.#at = start - 1;
    this.varint(length);
    this.#at = end;
  }

  #room(needed: number): void {
    if (this.#at + needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + needed));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
