/**
 * Messages that many streams send. What a message is, and the bytes that it has on the wire, is worked out by the first stream that
 * needs it; the others send the same bytes. A thousand watchers of the same changes cost one encoding.
 */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import type { Caller } from '../../domain/access/caller.ts';
import { seesDetails, withoutDetailsIn } from '../viewer-words.ts';

type Message = MessageInitShape<DescMessage>;
type Encode = (message: Message) => Buffer;

/** Keeps its bytes, which are small, and makes the message again for a stream that needs it as it is. */
export class SharedMessage {
  readonly #make: () => Message;
  #bytes: Buffer | null = null;
  #plain: SharedMessage | null = null;

  constructor(make: () => Message) {
    this.#make = make;
  }

  get message(): Message {
    return this.#make();
  }

  bytes(encode: Encode): Buffer {
    this.#bytes ??= encode(this.#make());
    return this.#bytes;
  }

  /** The same bytes are in a batch: those of their own are not kept beside it. */
  isPartOf(joined: Buffer): void {
    this.#bytes = joined;
  }

  /** For callers that may not see how a connection failed. */
  get plain(): SharedMessage {
    this.#plain ??= new SharedMessage(() => withoutDetailsIn(this.#make()));
    return this.#plain;
  }
}

export class SharedBatch {
  readonly #shared: readonly SharedMessage[];
  #joined: Buffer | null = null;
  #plain: SharedBatch | null = null;

  constructor(shared: readonly SharedMessage[]) {
    this.#shared = shared;
  }

  get messages(): readonly Message[] {
    return this.#shared.map(({ message }) => message);
  }

  get isEmpty(): boolean {
    return this.#shared.length === 0;
  }

  /** What this caller may see of it. */
  seenBy(caller: Caller): SharedBatch {
    if (seesDetails(caller)) return this;
    this.#plain ??= new SharedBatch(this.#shared.map(({ plain }) => plain));
    return this.#plain;
  }

  /** All of them, one after the other, in the frames of gRPC. */
  framed(encode: Encode): Buffer {
    if (this.#joined === null) {
      const parts = this.#shared.map((shared) => shared.bytes(encode));
      const joined = Buffer.concat(parts);
      let start = 0;
      this.#shared.forEach((shared, index) => {
        const end = start + (parts[index]?.length ?? 0);
        shared.isPartOf(joined.subarray(start, end));
        start = end;
      });
      this.#joined = joined;
    }
    return this.#joined;
  }
}
