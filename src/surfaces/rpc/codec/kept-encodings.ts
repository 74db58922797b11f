/**
 * Texts and bytes of messages that are sent again and again as they are. Only for a message that nothing changes once it was made
 * known here: its encodings are made once, and live as long as it.
 */

interface Encodings {
  json: string | null;
  binary: Buffer | null;
}

const kept = new WeakMap<object, Encodings>();

export function keepEncodings<Message extends object>(message: Message): Message {
  kept.set(message, { json: null, binary: null });
  return message;
}

export function keptJson(message: object, encode: () => string): string {
  const encodings = kept.get(message);
  if (encodings === undefined) return encode();
  encodings.json ??= encode();
  return encodings.json;
}

/** The bytes after so many that the caller fills: each caller gets bytes of its own. */
export function keptBinary(
  message: object,
  headBytes: number,
  encode: (headBytes: number) => Buffer,
): Buffer {
  const encodings = kept.get(message);
  if (encodings === undefined) return encode(headBytes);
  encodings.binary ??= encode(0);
  const copy = Buffer.allocUnsafe(headBytes + encodings.binary.length);
  copy.set(encodings.binary, headBytes);
  return copy;
}
