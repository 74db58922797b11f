/**
 * Reads the messages of a watch of operations from the chunks of its stream, which end anywhere: of each its kind and the time of its
 * event, where its bytes are. A thousand streams are read by one thread, on the processors that the server needs. With an object for each
 * message, or the reader of a library, the lag would be that of the client.
 */
import { WireType } from '@bufbuild/protobuf/wire';

/** Of a frame: a flag and the length of its message. */
const HEAD_BYTES = 5;
const KIND_FIELD = 21;
const TIME_FIELD = 1;
const SECONDS_TAG = 8;
const NANOSECONDS_TAG = 16;

export class EventReader {
  kind = 0;
  atMs = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /** `take` finds the kind and the time of the message here. */
  push(chunk: Buffer, take: (reader: EventReader) => void): void {
    const bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    this.#bytes = bytes;
    let start = 0;
    while (start + HEAD_BYTES <= bytes.length) {
      const end = start + HEAD_BYTES + bytes.readUInt32BE(start + 1);
      if (end > bytes.length) break;
      this.#at = start + HEAD_BYTES;
      this.#read(end);
      take(this);
      start = end;
    }
    this.#bytes = start === 0 ? bytes : bytes.subarray(start);
  }

  #read(end: number): void {
    this.kind = 0;
    this.atMs = 0;
    while (this.#at < end) {
      const tag = this.#varint();
      switch (tag & 7) {
        case WireType.Varint: {
          const value = this.#varint();
          if (tag >>> 3 === KIND_FIELD) this.kind = value;
          break;
        }
        case WireType.LengthDelimited: {
          const length = this.#varint();
          if (tag >>> 3 === TIME_FIELD) this.#readTime(this.#at + length);
          else this.#at += length;
          break;
        }
        case WireType.Bit64:
          this.#at += 8;
          break;
        case WireType.Bit32:
          this.#at += 4;
          break;
        default:
          throw new Error(`a message of the stream has a field of the type ${tag & 7}`);
      }
    }
  }

  #readTime(end: number): void {
    while (this.#at < end) {
      const part = this.#varint();
      const value = this.#varint();
      if (part === SECONDS_TAG) this.atMs += value * 1000;
      else if (part === NANOSECONDS_TAG) this.atMs += value / 1e6;
    }
  }

  #varint(): number {
    let value = 0;
    for (let place = 1; ; place *= 128) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 127) * place;
      if (byte < 128) return value;
    }
  }
}
